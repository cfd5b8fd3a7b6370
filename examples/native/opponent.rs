// Two levels of Corso play a game, by the native library.
//
//     ludarium export corso --as c
//     rustc examples/native/opponent.rs -L corso-c/x86_64-linux -l static=ludarium_corso
//     ./opponent
use std::alloc::{alloc, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_char, c_void, CStr};

extern "C" {
    fn ludarium_corso_size() -> i64;
    fn ludarium_corso_init(game: *mut c_void, size: i64) -> i32;
    fn ludarium_corso_outcome(game: *mut c_void) -> i32;
    fn ludarium_corso_plies(game: *mut c_void) -> i32;
    fn ludarium_corso_play(game: *mut c_void, action: i32) -> i32;
    fn ludarium_corso_text(game: *mut c_void, action: i32, text: *mut c_char, size: i64) -> i64;
    fn ludarium_corso_levels() -> i32;
    fn ludarium_corso_begin_level(game: *mut c_void, level: i32, seed: i64) -> i32;
    fn ludarium_corso_run(game: *mut c_void, most: i32) -> i32;
    fn ludarium_corso_choose(game: *mut c_void) -> i32;
    fn ludarium_corso_error(code: i32) -> *const c_char;
}

/// A code below 0 is an error.
fn checked(code: i32) -> Result<i32, String> {
    if code >= 0 {
        return Ok(code);
    }
    let text = unsafe { CStr::from_ptr(ludarium_corso_error(code)) };
    Err(text.to_string_lossy().into_owned())
}

/// A game and the opponent in it; it may move to another thread, but not be used by two at once.
struct Corso {
    buffer: *mut c_void,
    layout: Layout,
}

unsafe impl Send for Corso {}

impl Corso {
    fn new() -> Result<Corso, String> {
        let size = unsafe { ludarium_corso_size() };
        let layout = Layout::from_size_align(size as usize, 64).map_err(|e| e.to_string())?;
        let buffer = unsafe { alloc(layout) } as *mut c_void;
        if buffer.is_null() {
            handle_alloc_error(layout);
        }
        let game = Corso { buffer, layout };
        checked(unsafe { ludarium_corso_init(buffer, size) })?;
        Ok(game)
    }

    fn is_over(&self) -> bool {
        unsafe { ludarium_corso_outcome(self.buffer) != 0 }
    }

    fn plies(&self) -> i32 {
        unsafe { ludarium_corso_plies(self.buffer) }
    }

    fn text(&self, action: i32) -> Result<String, String> {
        let mut text = [0 as c_char; 100];
        let size = text.len() as i64;
        let length = unsafe { ludarium_corso_text(self.buffer, action, text.as_mut_ptr(), size) };
        checked(length as i32)?;
        let text = unsafe { CStr::from_ptr(text.as_ptr()) };
        Ok(text.to_string_lossy().into_owned())
    }

    fn think(&mut self, level: i32, seed: i64) -> Result<i32, String> {
        checked(unsafe { ludarium_corso_begin_level(self.buffer, level, seed) })?;
        // A video game draws a frame between two calls.
        while checked(unsafe { ludarium_corso_run(self.buffer, 8) })? == 1 {}
        checked(unsafe { ludarium_corso_choose(self.buffer) })
    }

    fn play(&mut self, action: i32) -> Result<i32, String> {
        checked(unsafe { ludarium_corso_play(self.buffer, action) })
    }
}

impl Drop for Corso {
    fn drop(&mut self) {
        unsafe { dealloc(self.buffer as *mut u8, self.layout) }
    }
}

fn main() -> Result<(), String> {
    let mut game = Corso::new()?;
    while !game.is_over() {
        let ply = game.plies();
        let best = unsafe { ludarium_corso_levels() };
        let action = game.think(if ply % 2 == 1 { 1 } else { best }, ply as i64)?;
        print!("{} ", game.text(action)?);
        game.play(action)?;
    }
    let outcome = unsafe { ludarium_corso_outcome(game.buffer) };
    println!("\noutcome {} after {} plies", outcome, game.plies());
    Ok(())
}
