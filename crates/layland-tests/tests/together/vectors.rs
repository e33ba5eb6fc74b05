//! All test vectors of this project pass, and none is left out.

use layland_testkit::vectors::{VectorReport, run_folder};
use std::path::Path;

#[test]
fn every_shipped_vector_passes() {
    let root = Path::new(crate::VECTORS);
    for (folder, count) in [
        ("edf-affinity", 93),
        ("run-qps", 44),
        ("mixed-criticality", 102),
        ("reservations", 52),
        ("resources", 66),
        ("schedcat", 24),
        ("precedence", 36),
        ("global-classics", 42),
        ("levels", 70),
        ("speeds", 287),
        ("groups", 181),
        ("how-often", 210),
        ("exact", 243),
    ] {
        let mut report = VectorReport::default();
        run_folder(&root.join(folder), &mut report).unwrap();
        assert!(report.failed.is_empty(), "{:#?}", report.failed);
        assert_eq!(report.not_supported.values().sum::<usize>(), 0, "{}", report.summary());
        assert_eq!(report.passed, count, "{folder}");
    }
}

/// A file of vectors, a text in it, and a wrong one in its place.
const WRONG: &[(&str, &str, &str)] = &[
    ("edf-affinity/dhall", "[3, 0, 2, 32]", "[3, 1, 2, 32]"),
    ("edf-affinity/dhall", "\"3\": 1}", "\"3\": 2}"),
    ("edf-affinity/dhall", "[1, 0, 0, 10, 2]", "[1, 0, 0, 10, 3]"),
    ("run-qps/rq-01", "[0, 0, 2, \"13/1\", \"15/1\"]", "[0, 0, 2, \"13/1\", \"16/1\"]"),
    ("run-qps/rq-01", "\"update_instants\": 16", "\"update_instants\": 17"),
    ("run-qps/rq-01", "\"duals_of\": [7, 5, 6]", "\"duals_of\": [5, 6, 7]"),
    ("run-qps/rq-01", "\"qps_intervals\": 4", "\"qps_intervals\": 5"),
    ("run-qps/rq-37", "\"collapses\": 1", "\"collapses\": 2"),
    ("run-qps/rq-37", "\"busy_time\": \"137/1\"", "\"busy_time\": \"136/1\""),
    ("precedence/chains", "\"reduced_age\":30", "\"reduced_age\":31"),
    ("precedence/chains", "\"davare\":75,\"bound\":73", "\"davare\":75,\"bound\":75"),
    ("reservations/grub_ledger", "\"result\": 105076", "\"result\": 105077"),
    ("reservations/grub_ledger", "\"extra_bw\": [891290]", "\"extra_bw\": [891291]"),
    ("reservations/grub_ledger", "\"EBUSY\"", "\"ok\""),
    ("reservations/grub_schedule", "[1, 0, 8, 24]", "[1, 0, 8, 23]"),
    ("reservations/grub_schedule", "[2, 0, 0, 8]", "[2, 0, 0, 7]"),
    ("reservations/grub_schedule", "\"throttle\", \"-1/5\"", "\"throttle\", \"-1/4\""),
    ("reservations/grub_schedule", "[8, 0, \"1/2\"]", "[9, 0, \"1/2\"]"),
    ("reservations/grub_schedule", "[4493184, 0, \"inactive\"", "[4493185, 0, \"inactive\""),
    ("reservations/mc_analysis", "\"x_min\": \"30/59\"", "\"x_min\": \"30/61\""),
    ("reservations/mc_analysis", "\"virtual\": [6, 2, 8]", "\"virtual\": [6, 3, 8]"),
    ("reservations/mc_analysis", "\"ey_limit\": 61", "\"ey_limit\": 62"),
    ("reservations/mc_analysis", "[2, 3, 0, 2, 2, 3, 3, 1]", "[2, 3, 0, 3, 2, 3, 3, 1]"),
    ("reservations/mc_analysis", "\"k\": 0", "\"k\": 1"),
    ("reservations/mc_runtime", "[[13, 1], [18, 0]]", "[[13, 1], [19, 0]]"),
    ("reservations/mc_runtime", "[33, 37, 0, 2]", "[33, 36, 0, 2]"),
    ("reservations/split", "[[0, 0, 4, 4], [1, 4, 2, 6]]", "[[0, 0, 3, 3], [1, 3, 3, 7]]"),
    ("reservations/split_runtime", "[2, 1, 3, 4], [0, 0, 4, 12]", "[2, 1, 3, 5], [0, 0, 4, 12]"),
    ("reservations/fp_server", "[[0, 1, 2], [1, 3, 14]]", "[[0, 1, 2], [1, 3, 15]]"),
    ("reservations/fp_server", "\"bounds\": [7]", "\"bounds\": [8]"),
    ("reservations/split_runtime", "[1, 1, 12, 22, 15]", "[1, 1, 12, 22, 16]"),
    ("global-classics/gc-01", "[0, 0, 0, 3, 2]", "[0, 0, 0, 3, 3]"),
    ("global-classics/gc-01", "\"busy_time\": 11", "\"busy_time\": 12"),
    ("global-classics/gc-01", "\"iterated\": false", "\"iterated\": true"),
    ("global-classics/gc-05", "\"edf_k_min\": 2", "\"edf_k_min\": 1"),
    ("global-classics/gc-05", "\"zeta\": \"2/3\"", "\"zeta\": \"3/5\""),
    ("global-classics/gc-01", "\"preemptions\": 2", "\"preemptions\": 3"),
    ("global-classics/gc-34", "\"13741/60\"", "\"13743/60\""),
    ("resources/one_cpu", "\"blocking\":[0,5,5,0]", "\"blocking\":[0,5,4,0]"),
    ("resources/one_cpu", "\"pip_matching\":[0,5,5,0]", "\"pip_matching\":[0,5,6,0]"),
    ("resources/partitioned", "\"remote\":[0,3,4,0]", "\"remote\":[0,3,5,0]"),
    ("resources/partitioned", "\"spin\":[0,3,2,0]", "\"spin\":[0,3,1,0]"),
    ("schedcat/locks", "\"remote\": [", "\"remote\": [1"),
    ("schedcat/msrp", "\"spin\": [", "\"spin\": [1"),
    ("resources/suspension", "\"unified\":[9,15,32]", "\"unified\":[9,15,33]"),
    ("resources/ties", "[3,4,0,0,0,\"run\"]", "[3,5,0,0,0,\"run\"]"),
    ("levels/levels", "\"fifo\": [10, 10, 10, 10]", "\"fifo\": [10, 10, 10, 9]"),
    ("levels/levels", "\"any\": [55, 1, 3, 34, 20]", "\"any\": [55, 1, 3, 34, 19]"),
    ("levels/levels", "\"any\": [3, 4, null, null,", "\"any\": [3, 4, 5, null,"),
    ("levels/levels", "[1, 0, 11], [1, 1, 16]", "[1, 0, 11], [1, 1, 17]"),
    ("speeds/one_cpu", "\"fp_responses\":[3,6]", "\"fp_responses\":[3,5]"),
    (
        "speeds/one_cpu",
        "\"as_steps\":6,\"as_segments\":[2,3,5]",
        "\"as_steps\":5,\"as_segments\":[2,3,5]",
    ),
    ("speeds/one_cpu", "\"as_segments\":[2,3,5]", "\"as_segments\":[2,4,5]"),
    ("speeds/run_uniform", "[1,0,1,3,6],[0,1,1,12,15]", "[1,0,0,3,6],[0,1,1,12,15]"),
    ("speeds/dl_capacity", "[9000000,10000000,943718,false]", "[9000000,10000000,943718,true]"),
    ("speeds/dl_capacity", "[3,1,341,false,true]", "[3,1,341,true,true]"),
    ("speeds/dl_capacity", "[1000,1024,446,435]", "[1000,1024,446,436]"),
    ("speeds/feasible_types", "\"feasible\":false", "\"feasible\":true"),
    ("speeds/map", "\"balance\":\"1/10\"", "\"balance\":\"1/5\""),
    ("speeds/map", "\"margin\":10000", "\"margin\":10001"),
    ("speeds/sensitivity", "\"wcet_time\":[7,14]", "\"wcet_time\":[6,14]"),
    ("speeds/sensitivity", "\"deadline\":[1,2,3]", "\"deadline\":[1,2,4]"),
    ("speeds/uniform", "\"U-LOAD\":[true,false,true,false", "\"U-LOAD\":[true,true,true,false"),
    ("speeds/uniform", "\"U-RTA-LC\":[[3,6,10],", "\"U-RTA-LC\":[[3,6,11],"),
    ("exact/ticks", "\"responses\":[2,1,3,6]", "\"responses\":[2,1,3,5]"),
    ("exact/ticks", "[[0,0],[0,1],[0,3]]", "[[0,0],[1,1],[6,3]]"),
    ("exact/dense", "\"1/3\":\"yes\",\"1/4\":\"no\"", "\"1/3\":\"yes\",\"1/4\":\"yes\""),
    (
        "exact/inflated",
        "\"inflated\":\"no\",\"dense\":\"unknown\"",
        "\"inflated\":\"no\",\"dense\":\"yes\"",
    ),
    ("exact/priorities", "\"rta_lc_d_minus_c\":[6,1,2,4]", "\"rta_lc_d_minus_c\":[6,1,2,5]"),
    (
        "exact/priorities",
        "\"orders_schedulable_on_ticks\":12",
        "\"orders_schedulable_on_ticks\":13",
    ),
    ("exact/certificates", "\"expect\":\"accepted\"", "\"expect\":\"refused\""),
    ("exact/sag", "[[5,6],[8,11]", "[[5,6],[8,12]"),
    ("exact/sag", "\"late\":[1,2,3,4,5]", "\"late\":[1,2,3,4]"),
    ("exact/speed", "\"verdict\":\"no\"", "\"verdict\":\"yes\""),
    ("groups/supply", "[1,15],[3,17]", "[1,15],[3,18]"),
    ("groups/supply", "[2,64,75]", "[2,64,76]"),
    ("how-often/words", "\"violation\": [9, 10]", "\"violation\": [9, 11]"),
    ("how-often/words", "\"20\": 8, \"50\": 20", "\"20\": 8, \"50\": 21"),
    ("how-often/words", "\"dbp\": 4, \"jcl\": 0", "\"dbp\": 4, \"jcl\": 1"),
    ("how-often/probability", "[8, \"1/128\"]", "[8, \"1/127\"]"),
    ("how-often/probability", "\"continue\": \"523667/524288\"", "\"continue\": \"523666/524288\""),
    ("how-often/probability", "\"greatest\": \"919/1024\"", "\"greatest\": \"918/1024\""),
    ("how-often/probability", "\"low\": \"27836871/", "\"low\": \"27836872/"),
    ("how-often/bounds", "\"sequential\": \"15/64\"", "\"sequential\": \"14/64\""),
    ("how-often/bounds", "\"counts_at_D\": [1, 1]", "\"counts_at_D\": [2, 1]"),
    ("how-often/tests", "\"most_misses\": 4", "\"most_misses\": 3"),
    ("how-often/tests", "\"fp\": [4, 7]", "\"fp\": [4, 6]"),
    ("how-often/twca", "\"busy\": 24", "\"busy\": 25"),
    ("groups/uniprocessor", "\"fp_any\":[9,11]", "\"fp_any\":[9,12]"),
    ("groups/uniprocessor", "\"np_fp\":[10,11]", "\"np_fp\":[10,12]"),
    ("groups/global", "\"fp\":[4,9]", "\"fp\":[4,8]"),
    ("groups/outer", "[1,\"3/2\"],[4,5]", "[1,\"3/2\"],[4,6]"),
    ("groups/outer", "\"responses\":[1,3,4,11]", "\"responses\":[1,3,4,10]"),
    ("groups/design", "\"yes\":[6,7,12]", "\"yes\":[6,7,11]"),
    ("groups/design", "\"no\":{\"length\":92}", "\"no\":{\"length\":91}"),
    ("groups/design", "[\"3/5\",5,3]", "[\"4/5\",5,4]"),
    ("groups/hcbs", "9999942,10001", "9999942,10000"),
    ("groups/runtime", "[0,2,0,25,28]],\"jobs\"", "[0,2,0,25,27]],\"jobs\""),
    ("groups/runtime", "[5,0,0,\"wait\",0,7]", "[5,0,0,\"keep\",0,7]"),
    ("groups/runtime", "[9,0,0,\"replenish\",3,15]", "[9,0,0,\"replenish\",2,15]"),
    (
        "groups/hcbs",
        "[\"write\",\"c\",40000,50000,\"EINVAL\"]",
        "[\"write\",\"c\",40000,50000,\"ok\"]",
    ),
    ("run-qps/rq-42", "not-a-quasi-partition", "overload"),
    ("run-qps/rq-43", "333334", "333333"),
];

#[test]
fn a_wrong_expectation_fails() {
    for &(name, right, wrong) in WRONG {
        let path = Path::new(crate::VECTORS).join(format!("{name}.json"));
        let text = std::fs::read_to_string(path).unwrap();
        // Line breaks and spaces are those of a writer, and not part of a vector.
        let vector: serde_json::Value = serde_json::from_str(&text).unwrap();
        let [text, right, wrong] = [&*vector.to_string(), right, wrong]
            .map(|text| text.replace(": ", ":").replace(", ", ","));
        assert!(text.contains(&right), "{right}");
        let vector: serde_json::Value =
            serde_json::from_str(&text.replacen(&right, &wrong, 1)).unwrap();
        // A file has one vector, or a list of vectors of which one must fail.
        let vectors = vector.as_array().map_or(std::slice::from_ref(&vector), Vec::as_slice);
        let failed = vectors.iter().map(layland_testkit::vectors::run);
        let failed =
            failed.filter(|it| matches!(it, layland_testkit::vectors::Verdict::Failed(_))).count();
        assert_eq!(failed, 1, "{right}");
    }
}
