// A program in Rust that plays an action of Corso.
use std::alloc::{alloc, Layout};

extern "C" {
    fn ludarium_corso_size() -> i64;
    fn ludarium_corso_init(buffer: *mut u8, size: i64) -> i32;
    fn ludarium_corso_legal(buffer: *mut u8, mask: *mut u8, count: i64) -> i32;
    fn ludarium_corso_begin_level(buffer: *mut u8, level: i32, seed: i64) -> i32;
    fn ludarium_corso_run(buffer: *mut u8, most: i32) -> i32;
    fn ludarium_corso_choose(buffer: *mut u8) -> i32;
    fn ludarium_corso_play(buffer: *mut u8, action: i32) -> i32;
}

fn main() {
    let mut mask = [0u8; 25];
    unsafe {
        let size = ludarium_corso_size();
        let game = alloc(Layout::from_size_align(size as usize, 64).unwrap());
        assert_eq!(ludarium_corso_init(game, size), 0);
        let before = ludarium_corso_legal(game, mask.as_mut_ptr(), 25);
        assert_eq!(ludarium_corso_begin_level(game, 2, 7), 0);
        while ludarium_corso_run(game, 8) == 1 {}
        assert_eq!(ludarium_corso_play(game, ludarium_corso_choose(game)), 0);
        let after = ludarium_corso_legal(game, mask.as_mut_ptr(), 25);
        println!("{before} legal actions, then {after}");
    }
}
