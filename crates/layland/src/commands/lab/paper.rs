//! `layland lab paper`: a report for the authors of a paper.

use super::{Chosen, PaperArgs, Show, failed, warn_of_damage};
use crate::ui::exit::{Exit, Outcome};
use crate::ui::{interrupt, terminal, threads};
use layland_lab::{Progress, Runner, write_paper};
use layland_policy::Registry;

/// Measures what is not in the folder yet, and writes the report.
pub(super) fn run(registry: &Registry, args: &PaperArgs) -> Outcome {
    let chosen = Chosen::of(registry, &args.which)?;
    let Chosen { experiment, figures, folder, .. } = &chosen;
    let interrupt = interrupt::listen();
    let show = Show::new(args.quiet);
    let tell = |progress: Progress| show.tell(progress);
    let runner = Runner {
        interrupt: Some(interrupt),
        progress: Some(&tell),
        damaged: Some(&warn_of_damage),
        ..chosen.runner(registry)
    };
    let plan = runner.plan(figures).map_err(failed)?;
    let results = threads::on(args.workers, || runner.run(&plan))?.map_err(failed)?;
    show.end();
    let timings = if args.no_timing || !results.is_complete() || !figures.is_empty() {
        None
    } else {
        let tell = |done, points| show.timed(done, points);
        layland_lab::time(experiment, registry, Some(interrupt), &tell).map_err(failed)?
    };
    let written = write_paper(experiment, &results, timings.as_ref(), folder).map_err(failed)?;
    let paths: Vec<String> =
        written.iter().map(|file| folder.join(file).display().to_string()).collect();
    terminal::result(&(paths.join("\n") + "\n"))?;
    Ok(if results.is_complete() { Exit::Yes } else { Exit::Interrupted })
}
