//! `unsnarl batch` as a user meets it: jobs in three shapes, commits, failures, limits, shards, interruptions, and
//! mistakes in manifests.

#![allow(clippy::unwrap_used)]

mod running;

use running::{Folder, Run, obj, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A triangle, and a second one through it or beside it.
fn mesh(through: bool) -> String {
    let low = if through { -0.5 } else { 0.5 };
    let flat = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
    let spike = [[0.5, 0.5, low], [1.5, 0.5, low], [1.0, 0.5, 1.0]];
    obj(&[flat, spike].concat(), &[[0, 1, 2], [3, 4, 5]])
}

/// A folder `in` of clean and crossing meshes, named `m00` and so on.
fn meshes(count: usize) -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("in")).unwrap();
    for number in 0..count {
        std::fs::write(folder.path(&format!("in/m{number:02}.obj")), mesh(number % 3 == 0)).unwrap();
    }
    folder
}

fn report(folder: &Folder, output: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.path(&format!("{output}/report.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Names in the report, in its order.
fn names(folder: &Folder, output: &str) -> Vec<String> {
    report(folder, output).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

/// What lies in the output folder: every finished sample with its row as it was written, and everything hidden.
fn entries(folder: &Folder, output: &str) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut samples, mut hidden) = (BTreeMap::new(), Vec::new());
    for entry in std::fs::read_dir(folder.path(output)).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with('.') {
            hidden.push(name);
        } else if entry.path().is_dir() {
            let row = std::fs::read_to_string(entry.path().join("sample.json"));
            samples.insert(name, row.expect("a folder without a dot is a whole sample"));
        }
    }
    (samples, hidden)
}

fn batch(folder: &Folder, words: &[&str]) -> Run {
    let all: Vec<&str> = ["batch"].iter().chain(words).copied().collect();
    folder.run(&all)
}

#[test]
fn a_folder_of_meshes_is_run_once() {
    let folder = meshes(7);
    let run = batch(&folder, &["in", "-o", "out", "--command", "check", "--jobs", "2", "--json", "r.json"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.starts_with("out: 7 of 7 done, 0 failed; "), "{}", run.out);
    let rows = report(&folder, "out");
    assert_eq!(names(&folder, "out"), (0..7).map(|number| format!("m{number:02}")).collect::<Vec<_>>());
    for (number, row) in rows.iter().enumerate() {
        assert_eq!((&row["status"], &row["command"]), (&json!("done"), &json!("check")));
        assert_eq!(row["clean"], json!(number % 3 != 0), "a check that finds something has done its job");
        assert_eq!((&row["vertices"], &row["triangles"], &row["index"]), (&json!(6), &json!(2), &json!(number)));
    }
    let check: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path("out/m00/report.json")).unwrap()).unwrap();
    assert_eq!((&check["schema"], &check["clean"]), (&json!("unsnarl.check/1"), &json!(false)));
    let total: Value = serde_json::from_str(&std::fs::read_to_string(folder.path("r.json")).unwrap()).unwrap();
    assert_eq!((&total["done"], &total["run_now"]), (&json!(7), &json!(7)));

    let before = entries(&folder, "out");
    assert_eq!(before.1, Vec::<String>::new(), "nothing hidden is left");
    let again = batch(&folder, &["in", "-o", "out", "--command", "check", "--json", "-"]);
    assert_eq!(again.status, 0);
    let total: Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!((&total["done"], &total["run_now"]), (&json!(7), &json!(0)));
    assert_eq!(entries(&folder, "out"), before, "what is there is not run again");
}

#[test]
fn patterns_and_manifests_name_commands_inputs_bodies_and_options() {
    let folder = meshes(2);
    let pattern = batch(&folder, &["in/m*.obj", "-o", "by_pattern", "--command", "check", "-q"]);
    assert_eq!((pattern.status, names(&folder, "by_pattern")), (0, vec!["m00".to_owned(), "m01".to_owned()]));
    std::fs::create_dir(folder.path("lists")).unwrap();
    std::fs::copy(root().join("samples/hanky_bibi.obj"), folder.path("in/hanky.obj")).unwrap();
    std::fs::write(
        folder.path("lists/s.toml"),
        "[scene]\nframes = 1\n[[cloth]]\nsheet = { size = [1, 1], cells = [2, 2] }\n",
    )
    .unwrap();
    let sheet = "sheet = { size = [0.2, 0.2], cells = [4, 4] }";
    let layers =
        format!("[[cloth]]\nname = \"in\"\nlayer = 1\n{sheet}\n[[cloth]]\nname = \"out\"\nlayer = 2\n{sheet}\n");
    std::fs::write(folder.path("lists/layers.toml"), layers).unwrap();
    let lines = [
        r#"{"name": "plain", "command": "check", "inputs": "../in/m00.obj", "picture": true}"#,
        "",
        r#"{"name": "dressed", "command": "check", "inputs": ["../in/m01.obj"], "body": "../in/m00.obj"}"#,
        r#"{"command": "fix", "inputs": "../in/hanky.obj", "max-seconds": 100, "method": "auto"}"#,
        r#"{"name": "fall", "command": "sim", "inputs": "s.toml", "set": ["scene.frames=2", "scene.gravity=[0,0,0]"]}"#,
        r#"{"command": "dress", "inputs": "layers.toml"}"#,
    ];
    std::fs::write(folder.path("lists/jobs.jsonl"), format!("\u{feff}{}\r\n", lines.join("\r\n"))).unwrap();
    let run = batch(&folder, &["lists/jobs.jsonl", "-o", "out", "-q"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let rows = report(&folder, "out");
    assert_eq!(names(&folder, "out"), ["plain", "dressed", "hanky", "fall", "layers"]);
    assert!(std::fs::read(folder.path("out/plain/picture.png")).unwrap().starts_with(b"\x89PNG"));
    assert!(rows[1]["pairs_before"].as_u64() > Some(0), "against the body: {}", rows[1]);
    assert_eq!((&rows[2]["clean"], &rows[2]["pairs_after"]), (&json!(true), &json!(0)));
    assert!(rows[2]["pairs_before"].as_u64() > Some(0) && folder.path("out/hanky/hanky.obj").is_file());
    assert!(folder.path("out/fall/cache/frame_000002.unsnarl").is_file());
    assert_eq!((&rows[4]["clean"], folder.path("out/layers/dressed/out.obj").is_file()), (&json!(true), true));

    let csv = "name,command,inputs,body,picture\nplain,check,../in/m00.obj,,true\n\"two, together\",,../in/m00.obj;../in/m01.obj,,\n";
    std::fs::write(folder.path("lists/jobs.csv"), csv.replace("two, together", "both")).unwrap();
    let run = batch(&folder, &["lists/jobs.csv", "-o", "csv", "--command", "check", "--with", "body=in/m01.obj"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert_eq!(names(&folder, "csv"), ["plain", "both"]);
    assert!(report(&folder, "csv").iter().all(|row| row["row"]["body"] == json!("in/m01.obj")));
    assert_eq!(report(&folder, "csv")[1]["vertices"], json!(18), "two garments and the body given for all");
}

#[test]
fn a_failing_sample_is_recorded_and_the_others_go_on() {
    let folder = meshes(4).with("in/m01.obj", "v 0 0 0\nf 1 2 3\n");
    let run = batch(&folder, &["in", "-o", "out", "--command", "check"]);
    assert_eq!(run.status, 1);
    assert!(run.out.starts_with("failed: m01: in/m01.obj:2: "), "{}", run.out);
    assert!(run.out.contains("3 of 4 done, 1 failed"), "{}", run.out);
    let row = &report(&folder, "out")[1];
    assert_eq!((&row["status"], &row["exit"]), (&json!("failed"), &json!(2)));
    assert!(row["reason"].as_str().unwrap().starts_with("in/m01.obj:2: "), "{row}");
    // It is not run again unless asked for.
    std::fs::write(folder.path("in/m01.obj"), mesh(false)).unwrap();
    assert_eq!(batch(&folder, &["in", "-o", "out", "--command", "check", "-q"]).status, 1);
    assert_eq!(batch(&folder, &["in", "-o", "out", "--command", "check", "-q", "--retry-failed"]).status, 0);
    assert_eq!(report(&folder, "out").len(), 4);
    assert!(report(&folder, "out").iter().all(|row| row["status"] == json!("done")));
}

const LONG: &str = "[scene]\nframes = 100000\n[[cloth]]\nsheet = { size = [1, 1], cells = [60, 60] }\n";

#[test]
fn samples_beyond_their_limits_are_ended_and_told() {
    let lines = [
        r#"{"name": "slow", "command": "sim", "inputs": "s.toml", "time-limit": 0.5}"#,
        r#"{"name": "big", "command": "sim", "inputs": "s.toml", "memory-limit": "4M"}"#,
        r#"{"name": "good", "command": "check", "inputs": "a.obj"}"#,
    ];
    let folder = Folder::new().with("s.toml", LONG).with("a.obj", &mesh(false)).with("jobs.jsonl", &lines.join("\n"));
    let run = batch(&folder, &["jobs.jsonl", "-o", "out", "--jobs", "2", "--time-limit", "60"]);
    assert_eq!(run.status, 1);
    let rows = report(&folder, "out");
    assert_eq!(rows[0]["reason"], json!("took more than 0.5 s"));
    let reason = rows[1]["reason"].as_str().unwrap();
    assert!(reason.starts_with("used ") && reason.ends_with("more than the limit of 4 MiB"), "{reason}");
    assert_eq!(rows[2]["status"], json!("done"));
    assert!(rows[0]["seconds"].as_f64() < Some(5.0));
}

#[test]
fn shards_share_the_work_and_the_report_has_all() {
    let folder = meshes(5);
    for (shard, count) in [("1/2", 3), ("2/2", 5)] {
        let run = batch(&folder, &["in", "-o", "out", "--command", "check", "--shard", shard, "-q"]);
        assert_eq!(run.status, 0, "{}", run.err);
        assert_eq!(report(&folder, "out").len(), count);
    }
    assert_eq!(names(&folder, "out"), ["m00", "m01", "m02", "m03", "m04"]);
    for shard in ["0/2", "3/2", "1", "a/b", "1/0", "-1/2"] {
        let run = batch(&folder, &["in", "-o", "x", &format!("--shard={shard}")]);
        assert_eq!(run.status, 2);
        assert!(run.err.contains("expected I/N with I from 1 to N"), "{}", run.err);
    }
}

/// What other schedulers use: a list of what is pending, and single samples by their index.
#[test]
fn pending_samples_are_listed_and_run_by_index() {
    let folder = meshes(4);
    let list = |words: &[&str]| -> Vec<Value> {
        let all: Vec<&str> = ["in", "-o", "out", "--command", "check"].iter().chain(words).copied().collect();
        let run = batch(&folder, &all);
        assert!(run.status < 2, "{}", run.err);
        run.out.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    assert_eq!(list(&["--list"])[3], json!({"index": 3, "name": "m03"}));
    list(&["--only", "2,0"]);
    assert_eq!(list(&["--list"]), [json!({"index": 1, "name": "m01"}), json!({"index": 3, "name": "m03"})]);
    assert_eq!(entries(&folder, "out").0.len(), 2);
    let gather = batch(&folder, &["in", "-o", "out", "--command", "check", "--gather"]);
    assert_eq!(gather.status, 1);
    assert!(gather.out.contains("2 of 4 done, 0 failed, 2 left: start again to go on"), "{}", gather.out);
    assert_eq!(names(&folder, "out"), ["m00", "m02"]);
    let wrong = batch(&folder, &["in", "-o", "out", "--only", "9"]);
    assert_eq!((wrong.status, wrong.err.as_str()), (2, "error: --only 9: there are 4 samples\n"));
}

/// A worker for schedulers: it reads the jobs once and runs what it is told, line by line.
#[test]
fn a_worker_that_stays_runs_what_it_is_told_and_ends_with_its_input() {
    let folder = meshes(5);
    let words = ["batch", "in", "-o", "out", "--command", "check", "--serve", "-q"];
    let mut worker = folder.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut answers) = (worker.stdin.take().unwrap(), BufReader::new(worker.stdout.take().unwrap()));
    let mut tell = |line: &str| -> Value {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    };
    assert_eq!(tell("3,1"), json!({"samples": 2, "failed": 0}));
    assert_eq!(tell("1, 0"), json!({"samples": 2, "failed": 0}));
    let (there, hidden) = entries(&folder, "out");
    assert_eq!(there.keys().collect::<Vec<_>>(), ["m00", "m01", "m03"]);
    assert_eq!(hidden.len(), 1, "the worker's lock: {hidden:?}");
    drop(input);
    assert!(worker.wait().unwrap().success());
    assert!(entries(&folder, "out").1.is_empty());
    let mut lost = folder.command(&words).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = lost.stdin.take().unwrap();
    writeln!(input, "7").unwrap();
    let lost = lost.wait_with_output().unwrap();
    let said = String::from_utf8(lost.stderr).unwrap();
    assert_eq!(lost.status.code(), Some(2), "{said}");
    assert_eq!(said, "error: --serve: `7` is not the index of a sample; expected 0 to 4\n");
}

/// A list with `--retry-failed` has those that failed, and leaves them where they are.
#[test]
fn failed_samples_are_listed_to_be_tried_again() {
    let folder = meshes(2);
    std::fs::write(folder.path("in/bad.obj"), "v 0 0 nonsense\n").unwrap();
    let list = |words: &[&str]| {
        let all: Vec<&str> = ["in", "-o", "out", "--command", "check"].iter().chain(words).copied().collect();
        batch(&folder, &all).out
    };
    list(&[]);
    assert_eq!(list(&["--list"]), "");
    assert_eq!(list(&["--list", "--retry-failed"]), "{\"index\":0,\"name\":\"bad\"}\n");
    assert_eq!(entries(&folder, "out").0.len(), 3);
}

fn start(folder: &Folder, words: &[&str]) -> Child {
    folder.command(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Five kills without warning, at moments that differ: no sample is missing, none is there twice, no folder is half.
#[test]
fn a_killed_run_goes_on_by_being_started_again() {
    let folder = meshes(300);
    let all: Vec<String> = std::fs::read_dir(folder.path("in")).unwrap().map(|file| file_stem(file.unwrap())).collect();
    let words = ["batch", "in", "-o", "out", "--command", "check", "--jobs", "2", "-q"];
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for kill in 0..5_u64 {
        let mut runner = start(&folder, &words);
        std::thread::sleep(Duration::from_millis(30 + 37 * kill % 90));
        runner.kill().unwrap();
        runner.wait().unwrap();
        let (now, _) = entries(&folder, "out");
        assert!(seen.iter().all(|(name, row)| now.get(name) == Some(row)), "what was committed has changed");
        seen = now;
    }
    assert!(!seen.is_empty() && seen.len() < all.len(), "the kills came in the middle: {} samples", seen.len());
    let run = folder.run(&words);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let (end, hidden) = entries(&folder, "out");
    assert!(seen.iter().all(|(name, row)| end.get(name) == Some(row)));
    assert_eq!((end.len(), hidden), (all.len(), Vec::new()));
    let (mut all, mut reported) = (all, names(&folder, "out"));
    all.sort();
    reported.sort();
    assert_eq!(reported, all);
}

fn file_stem(file: std::fs::DirEntry) -> String {
    file.path().file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn two_runners_of_the_same_jobs_commit_every_sample_once() {
    let folder = meshes(60);
    let words = ["batch", "in", "-o", "out", "--command", "check", "--jobs", "2", "-q"];
    let runners = [start(&folder, &words), start(&folder, &words)];
    for runner in runners {
        assert_eq!(runner.wait_with_output().unwrap().status.code(), Some(0));
    }
    let (samples, hidden) = entries(&folder, "out");
    assert_eq!((samples.len(), hidden), (60, Vec::new()));
    assert_eq!(names(&folder, "out"), (0..60).map(|number| format!("m{number:02}")).collect::<Vec<_>>());
}

/// Waits until something is true, or fails after a while.
fn wait_until(what: &str, is_true: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_true() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}");
}

fn is_running(id: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z")
}

/// The first process whose runner is the given one.
fn child_of(runner: u32) -> Option<String> {
    let path = PathBuf::from(format!("/proc/{runner}/task"));
    std::fs::read_dir(path).ok()?.flatten().find_map(|task| {
        let children = std::fs::read_to_string(task.path().join("children")).ok()?;
        children.split_whitespace().next().map(str::to_owned)
    })
}

#[test]
fn an_interrupted_or_killed_runner_leaves_no_process_and_an_interrupted_one_no_folder() {
    let folder = Folder::new().with("s.toml", LONG);
    for signal in ["-INT", "-KILL"] {
        let runner = start(&folder, &["batch", "*.toml", "-o", "out", "--command", "sim"]);
        let id = runner.id();
        wait_until("the sample begins", || child_of(id).is_some());
        let child = child_of(id).unwrap();
        // A child that is told its runner after the runner's end would never know: give it the time to begin.
        wait_until("the cache begins", || {
            entries(&folder, "out").1.iter().any(|name| folder.path(&format!("out/{name}/cache/cache.json")).exists())
        });
        assert!(std::process::Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
        let output = runner.wait_with_output().unwrap();
        wait_until("the child ends with its runner", || !is_running(&child));
        let (samples, hidden) = entries(&folder, "out");
        assert_eq!(samples.len(), 0);
        if signal == "-INT" {
            assert_eq!((output.status.code(), hidden), (Some(1), Vec::new()));
            assert!(String::from_utf8(output.stdout).unwrap().contains("1 left: start again to go on"));
        }
    }
    // The next runner removes what the killed one left.
    assert_eq!(entries(&folder, "out").1.len(), 2);
    assert_eq!(batch(&folder, &["*.toml", "-o", "out", "--command", "sim", "--gather", "-q"]).status, 1);
    assert_eq!(entries(&folder, "out").1, Vec::<String>::new());
}

#[test]
fn mistakes_in_manifests_are_one_line_each_and_nothing_is_run() {
    let rows: [(&str, &str); 17] = [
        (r#"{"inputs": "a.obj", "bdy": "a.obj"}"#, "jobs.jsonl:1: bdy: unknown key; fix takes name, command, inputs, "),
        (r#"{"inputs": "a.obj", "output": "b.obj"}"#, "jobs.jsonl:1: output: unknown key"),
        ("{\"inputs\": \"a.obj\"}\n{\"inputs\": \"a.obj\"}", "jobs.jsonl:2: name: a is taken by jobs.jsonl:1"),
        (
            "{\"name\": \"B\", \"inputs\": \"a.obj\"}\n{\"name\": \"b\", \"inputs\": \"a.obj\"}",
            "jobs.jsonl:2: name: b is taken",
        ),
        (r#"{"inputs": "none.obj"}"#, "jobs.jsonl:1: inputs: none.obj is not there"),
        (r#"{"inputs": "a.obj", "body": "none.obj"}"#, "jobs.jsonl:1: body: none.obj is not there"),
        (r#"{"inputs": "a.obj", "rest": "none.obj"}"#, "jobs.jsonl:1: rest: none.obj is not there"),
        (r#"{"name": "a"}"#, "jobs.jsonl:1: inputs: is missing"),
        (r#"{"inputs": {"a": 1}}"#, "jobs.jsonl:1: inputs: expected a file or a list of files"),
        (
            r#"{"inputs": "a.obj", "command": "studio"}"#,
            "jobs.jsonl:1: command: studio cannot be run by batch; expected one of check, fix, sim",
        ),
        (r#"{"inputs": "a.obj", "name": "../a"}"#, "jobs.jsonl:1: name: \"../a\" cannot be a folder"),
        (r#"{"inputs": "a.obj", "name": ".hidden"}"#, "jobs.jsonl:1: name: \".hidden\" cannot be a folder"),
        (r#"{"inputs": "a.obj", "max-seconds": "soon"}"#, "jobs.jsonl:1: invalid value 'soon' for '--max-seconds <S>'"),
        (
            r#"{"inputs": "a.obj", "time-limit": -1}"#,
            "jobs.jsonl:1: time-limit: -1; expected a number of seconds above 0",
        ),
        (r#"{"inputs": "a.obj", "picture": "p.png"}"#, "jobs.jsonl:1: picture: expected true"),
        (r#"{"inputs": "a.obj""#, "jobs.jsonl:1: not JSON: "),
        ("[1]", "jobs.jsonl:1: expected an object"),
    ];
    for (text, words) in rows {
        let folder = Folder::new().with("a.obj", &mesh(false)).with("jobs.jsonl", text);
        let run = batch(&folder, &["jobs.jsonl", "-o", "out"]);
        assert_eq!(run.status, 2, "{text}");
        assert!(run.err.starts_with(&format!("error: {words}")), "{text}: {}", run.err);
        assert_eq!(run.err.lines().count(), 1, "{text}: {}", run.err);
        assert!(!folder.path("out").exists(), "{text}");
    }
    let folder = Folder::new().with("a.obj", &mesh(false)).with("empty.jsonl", "\n").with("odd.txt", "");
    let folder = folder.with("c.csv", "name,inputs\na,a.obj,b.obj\n").with("d.csv", "name,name\na,b\n");
    let folder = folder.with("both.jsonl", "{\"name\": \"x\"}\n{\"inputs\": \"none.obj\"}\n");
    let rows: [(&[&str], &str); 8] = [
        (&["none"], "none: no such file or folder"),
        (&["odd.txt"], "odd.txt: expected a folder, a pattern in quotes, or a .jsonl or .csv manifest"),
        (&["*.ply"], "*.ply: no samples in it; expected meshes"),
        (&["empty.jsonl"], "empty.jsonl: no samples in it"),
        (&["c.csv"], "c.csv:2: 3 cells, the header has 2"),
        (&["d.csv"], "d.csv:1: name: two columns have this name"),
        (&["a*.obj", "--with", "body"], "--with body: expected KEY=VALUE"),
        (&["a*.obj", "--command", "tangle"], "invalid value 'tangle' for '--command <NAME>'"),
    ];
    for (words, expected) in rows {
        let all: Vec<&str> = words.iter().chain(&["-o", "out"]).copied().collect();
        let run = batch(&folder, &all);
        assert_eq!(run.status, 2, "{words:?}");
        assert!(run.err.starts_with(&format!("error: {expected}")), "{words:?}: {}", run.err);
        assert!(!folder.path("out").exists(), "{words:?}");
    }
    let all = batch(&folder, &["both.jsonl", "-o", "out"]);
    assert_eq!((all.status, all.err.lines().count()), (2, 2), "every mistake is told: {}", all.err);
}

#[test]
fn a_folder_with_other_things_under_the_names_of_samples_is_refused() {
    let folder = meshes(1);
    std::fs::create_dir_all(folder.path("out/m00")).unwrap();
    let run = batch(&folder, &["in", "-o", "out", "--command", "check"]);
    assert_eq!(run.status, 2);
    assert!(run.err.contains("is there and is not a finished sample"), "{}", run.err);
    assert_eq!(batch(&folder, &["in", "-o", "new", "--command", "check", "-q"]).status, 0);
    let run = batch(&folder, &["in", "-o", "new", "--command", "check", "--with", "body=in/m00.obj"]);
    assert_eq!(run.status, 2);
    assert!(run.err.contains("was made from another row of this name"), "{}", run.err);
}
