//! The processes of a control group: of a service, a container, a session.

use super::processes::Process;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A control group with its descendants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    folder: PathBuf,
}

impl Group {
    /// Finds the group of this name: its path below a mount point of control groups, as
    /// `/proc/PID/cgroup` and `systemctl status` print it.
    ///
    /// # Errors
    /// Returns an error if no hierarchy has such a group.
    pub fn find(name: &str) -> io::Result<Group> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        Group::below(mount_points(&mounts), name)
    }

    fn below(places: impl Iterator<Item = PathBuf>, name: &str) -> io::Result<Group> {
        let name = Path::new(name.trim_start_matches('/'));
        let goes_up = name.components().any(|part| part == std::path::Component::ParentDir);
        let found = places.map(|place| place.join(name)).find(|path| list(path).is_some());
        match found.filter(|_| !goes_up) {
            Some(folder) => Ok(Group { folder }),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Returns the processes of the group, in ascending order; none if the group has been removed.
    pub fn processes(&self) -> BTreeSet<Process> {
        let mut found = BTreeSet::new();
        let mut left = vec![self.folder.clone()];
        while let Some(folder) = left.pop() {
            let Some(list) = list(&folder) else { continue };
            // A threaded group does not list its processes, but the domain group above it does.
            let text = fs::read_to_string(list).unwrap_or_default();
            found.extend(text.lines().filter_map(|line| line.parse().ok()).map(Process));
            let below = fs::read_dir(&folder).into_iter().flatten().flatten();
            left.extend(
                below.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()),
            );
        }
        // Processes of another PID namespace are listed as 0.
        found.remove(&Process(0));
        found
    }
}

/// Returns the file that lists the processes of a group.
fn list(folder: &Path) -> Option<PathBuf> {
    Some(folder.join("cgroup.procs")).filter(|list| list.is_file())
}

/// Returns the mount points of control-group hierarchies, those of version 2 first.
fn mount_points(mounts: &str) -> impl Iterator<Item = PathBuf> {
    let of = |kind: &'static str| {
        mounts.lines().filter_map(move |line| {
            let mut fields = line.split(' ').skip(1);
            let (path, is) = (fields.next()?, fields.next()?);
            (is == kind).then(|| PathBuf::from(path))
        })
    };
    of("cgroup2").chain(of("cgroup"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_the_processes_below_it() {
        let root = std::env::temp_dir().join(format!("layland-group-{}", std::process::id()));
        let below = root.join("robot.slice/control.service");
        fs::create_dir_all(&below).unwrap();
        let write = |path: &Path, text: &str| fs::write(path.join("cgroup.procs"), text).unwrap();
        write(&root.join("robot.slice"), "12\n0\n");
        write(&below, "7\n9\n");
        let find = |name: &str| Group::below([root.clone()].into_iter(), name);
        let processes = [7, 9, 12].map(Process).into();
        assert_eq!(find("robot.slice").unwrap().processes(), processes);
        assert_eq!(find("/robot.slice/").unwrap().processes(), processes);
        let service = find("/robot.slice/control.service").unwrap();
        assert_eq!(service.processes(), [7, 9].map(Process).into());
        assert!(find("camera.service").is_err());
        assert!(find("robot.slice/../robot.slice").is_err());
        fs::remove_dir_all(&root).unwrap();
        assert!(service.processes().is_empty());
    }

    #[test]
    fn the_second_version_comes_first() {
        let mounts = "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let found: Vec<PathBuf> = mount_points(mounts).collect();
        assert_eq!(found, ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"].map(PathBuf::from));
    }
}
