//! Tests of the output of the command, case by case.
//! `TRYCMD=overwrite cargo test -p layland --test cmd` updates the cases after an intended change.

#[test]
fn cases() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("LC_ALL", "C.UTF-8")
        .env("NO_COLOR", "1")
        .case("tests/cmd/*.trycmd")
        .case("../../cases/*.md");
}
