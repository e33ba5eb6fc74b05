//! What the command prints, case by case. `TRYCMD=overwrite cargo test -p layland --test cmd` writes
//! the cases again after a change that is meant.

#[test]
fn cases() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .case("tests/cmd/*.trycmd")
        .case("../../cases/*.md");
}
