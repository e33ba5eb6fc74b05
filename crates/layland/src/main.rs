//! The `layland` command, with the policies of layland.

fn main() -> std::process::ExitCode {
    layland::main_with(&layland_policy::Registry::standard())
}
