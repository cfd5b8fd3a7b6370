// Two levels of Corso play a game, by the native library, as in Unity and Godot.
//
//     ludarium export corso --as c
//     mcs examples/native/Opponent.cs -out:Opponent.exe      # or `dotnet`, with a project
//     LD_LIBRARY_PATH=corso-c/x86_64-linux mono Opponent.exe
//
// Unity and Godot find the library among the project's plugins.
using System;
using System.Runtime.InteropServices;

static class Opponent {
    const string Library = "ludarium_corso";
    const int Alignment = 64, TextBytes = 100;

    [DllImport(Library)] static extern long ludarium_corso_size();
    [DllImport(Library)] static extern int ludarium_corso_init(IntPtr game, long size);
    [DllImport(Library)] static extern int ludarium_corso_outcome(IntPtr game);
    [DllImport(Library)] static extern int ludarium_corso_plies(IntPtr game);
    [DllImport(Library)] static extern int ludarium_corso_play(IntPtr game, int action);
    [DllImport(Library)] static extern long ludarium_corso_text(
        IntPtr game, int action, byte[] text, long size);
    [DllImport(Library)] static extern int ludarium_corso_levels();
    [DllImport(Library)] static extern int ludarium_corso_begin_level(
        IntPtr game, int level, long seed);
    [DllImport(Library)] static extern int ludarium_corso_run(IntPtr game, int most);
    [DllImport(Library)] static extern int ludarium_corso_choose(IntPtr game);
    [DllImport(Library)] static extern IntPtr ludarium_corso_error(int code);

    // A code below 0 is an error.
    static long Checked(long code) {
        if (code < 0)
            throw new ArgumentException(Marshal.PtrToStringAnsi(ludarium_corso_error((int)code)));
        return code;
    }

    // Memory that the garbage collector does not move, as it does an array of bytes; `memory` is
    // what Marshal.FreeHGlobal takes at the end.
    static IntPtr NewGame(out IntPtr memory) {
        long size = ludarium_corso_size();
        memory = Marshal.AllocHGlobal((IntPtr)(size + Alignment));
        IntPtr game = (IntPtr)((memory.ToInt64() + Alignment - 1) & -Alignment);
        Checked(ludarium_corso_init(game, size));
        return game;
    }

    static string Text(IntPtr game, int action) {
        byte[] text = new byte[TextBytes];
        int length = (int)Checked(ludarium_corso_text(game, action, text, text.Length));
        return System.Text.Encoding.UTF8.GetString(text, 0, length);
    }

    static void Main() {
        IntPtr memory, game = NewGame(out memory);
        while (ludarium_corso_outcome(game) == 0) {
            int ply = ludarium_corso_plies(game);
            int level = ply % 2 == 1 ? 1 : ludarium_corso_levels();
            Checked(ludarium_corso_begin_level(game, level, ply));
            while (Checked(ludarium_corso_run(game, 8)) == 1) { }  // a frame each
            int action = (int)Checked(ludarium_corso_choose(game));
            Console.Write(Text(game, action) + " ");
            Checked(ludarium_corso_play(game, action));
        }
        Console.WriteLine();
        Console.WriteLine("outcome {0} after {1} plies", ludarium_corso_outcome(game),
            ludarium_corso_plies(game));
        Marshal.FreeHGlobal(memory);
    }
}
