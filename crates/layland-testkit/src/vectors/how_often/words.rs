//! Words of outcomes, constraints, their order and their notation.

use super::super::reading::{integer, read, same};
use super::super::verdict::Read;
use crate::how_often::words as slow;
use layland_model::{
    HitOrMiss, Observance, Profile, Watch, WeaklyHard, WeaklyHardJudge, word_forever,
};
use serde_json::{Value, json};

fn constraint(text: &Value) -> Read<WeaklyHard> {
    let text = read(text.as_str(), "mk")?;
    text.parse().map_err(|error| format!("{error}"))
}

fn pair(value: &Value) -> Read<WeaklyHard> {
    let [m, k] = [0, 1].map(|at| integer(&value[at], "number"));
    let of = |number: i64| u32::try_from(number).ok();
    let (m, k) = (of(m?), of(k?));
    read(m.zip(k).and_then(|(m, k)| WeaklyHard::new(m, k)), "constraint")
}

fn letters(value: &Value) -> Read<Vec<HitOrMiss>> {
    read(value.as_str().and_then(HitOrMiss::word), "word over H, M and ?")
}

pub(super) fn word(vector: &Value) -> Read<()> {
    let (word, of) = (letters(&vector["word"])?, constraint(&vector["mk"])?);
    let (mut judge, mut profile) = (WeaklyHardJudge::new(of), Profile::default());
    for &outcome in &word {
        judge.push(outcome);
        profile.push(outcome);
    }
    let found = json!({
        "m": of.hits(),
        "k": of.window(),
        "verdict": judge.observance().name(),
        "violation": judge.violation().map(|violation| violation.ends()),
        "most_misses": judge.most_misses(),
        "longest_run": profile.longest_run(),
    });
    same("expect", &vector["expect"], &found)?;
    let by_windows = [HitOrMiss::Hit, HitOrMiss::Miss]
        .map(|reading| slow::most_misses(&word, of.window() as usize, reading));
    let slow = json!({
        "m": of.hits(),
        "k": of.window(),
        "verdict": slow::observance(&word, of).name(),
        "violation": slow::violation(&word, of),
        "most_misses": by_windows,
        "longest_run": profile.longest_run(),
    });
    same("expect by windows", &vector["expect"], &slow)
}

pub(super) fn cycle(vector: &Value) -> Read<()> {
    let [prefix, cycle] = ["prefix", "cycle"].map(|key| letters(&vector[key]));
    let (prefix, cycle, of) = (prefix?, cycle?, constraint(&vector["mk"])?);
    let expect = &vector["expect"];
    let mut judge = WeaklyHardJudge::new(of);
    word_forever(&prefix, &cycle, of.window()).for_each(|outcome| {
        judge.push(outcome);
    });
    same("verdict", &expect["verdict"], &json!(judge.observance().name()))?;
    let long: Vec<HitOrMiss> = word_forever(&prefix, &cycle, 1_000).collect();
    let slowly = slow::most_misses(&long, of.window() as usize, HitOrMiss::Hit) <= of.misses();
    let slowly = if slowly { Observance::Yes } else { Observance::No };
    same("verdict by windows", &expect["verdict"], &json!(slowly.name()))?;
    for (window, most) in read(expect["profile"].as_object(), "profile")? {
        let window: u32 = window.parse().map_err(|_| "a window is not a number".to_owned())?;
        let mut watch = Watch::new(window);
        word_forever(&prefix, &cycle, window).for_each(|outcome| watch.push(outcome));
        same(&format!("profile of {window}"), most, &json!(watch.most_misses()[0]))?;
        let slowly = slow::most_misses(&long, window as usize, HitOrMiss::Hit);
        same(&format!("profile of {window} by windows"), most, &json!(slowly))?;
    }
    Ok(())
}

/// Longer windows have too many histories to look at all.
const LONGEST: u32 = 14;

pub(super) fn order(vector: &Value) -> Read<()> {
    let (a, b, expect) = (pair(&vector["a"])?, pair(&vector["b"])?, &vector["expect"]);
    for (key, a, b) in [("a_implies_b", a, b), ("b_implies_a", b, a)] {
        same(key, &expect[key], &json!(a.implies(b)))?;
        if a.window().max(b.window()) <= LONGEST {
            same(&format!("{key} by words"), &expect[key], &json!(slow::implies(a, b)))?;
        }
    }
    let normal = [a, b].map(|of| [of.normal().hits(), of.normal().window()]);
    same("normal", &expect["normal"], &json!(normal))
}

pub(super) fn parse(vector: &Value) -> Read<()> {
    let text = read(vector["text"].as_str(), "text")?;
    let found = match text.parse::<WeaklyHard>() {
        Ok(of) => json!({ "m": of.hits(), "k": of.window() }),
        Err(_) => json!({ "error": true }),
    };
    same("expect", &vector["expect"], &found)
}

pub(super) fn history(vector: &Value) -> Read<()> {
    let of = pair(&json!([vector["m"], vector["k"]]))?;
    let recent = letters(&vector["history"])?;
    let found = json!({
        "dbp": of.distance_to_failure(&recent),
        "jcl": of.job_class(&recent),
    });
    same("expect", &vector["expect"], &found)
}
