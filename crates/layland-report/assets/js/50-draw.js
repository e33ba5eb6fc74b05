// What is in the lanes: bars with their texts, arrows, marks, misses, migrations.

/** Marks closer together than this many pixels are left out (misses never are). */
const ROOM = 14;
/** A text that has less room than this many pixels is not measured. */
const NARROW_TEXT = 24;

/** Draws lanes. What it draws on, and which time is where, a panel says. */
class LaneDrawing extends StepDrawing {
  /** What of a lane is a bar, and what is a column, which the raster gets. */
  gather(lane, top) {
    const { trace } = this, { y, height } = this.inside(lane);
    const cpu = lane.kind === "cpu";
    lane.gaps = [];
    lane.bars = cpu ? gather(this, trace.cpuLanes[lane.index], this.raster, height, null, lane.gaps)
      : gather(this, trace.taskLanes[lane.index], this.raster, height, lane.index, null);
    this.raster.end(y + height - top, height);
  }

  /** Where the bars of a lane are. */
  inside(lane) {
    if (lane.kind === "cpu") return { y: lane.y + 3, height: lane.height - 6 };
    const arrows = Math.min(16, lane.height * 0.36);
    return { y: lane.y + arrows, height: lane.height - 4 - arrows };
  }

  /** What lies under the bars: offline and idle CPUs. */
  underCpu(lane) {
    const { context: c, trace } = this, { look } = this.app, { y, height } = this.inside(lane);
    for (const [from, to] of trace.offline[lane.index]) {
      const x = Math.max(this.x(from), this.left), right = Math.min(this.x(to), this.width);
      if (right <= x) continue;
      c.fillStyle = look.hatch(c, look.faint);
      c.fillRect(x, y, right - x, height);
      this.say("offline", x, right, y, height, look.ink);
    }
    // A long gap says that it is one: who waits elsewhere could have run here.
    for (let k = 0; k < lane.gaps.length; k += 2) {
      this.say("idle", this.left + lane.gaps[k], this.left + lane.gaps[k + 1], y, height, look.faint);
    }
  }

  drawCpu(lane) {
    const { context: c, trace } = this, { look, names } = this.app;
    const { jobs, segments } = trace, { y, height } = this.inside(lane), base = y + height;
    for (const s of lane.bars) {
      const job = segments.job[s], task = jobs.task[job];
      const x0 = this.x(segments.start.at[s]), x1 = this.x(segments.end.at[s]);
      this.bar(s, x0, x1, y, height);
      const room = Math.min(x1, this.width) - Math.max(x0, this.left) - 8;
      if (room > 6) {
        const full = names[task] + " #" + (jobs.seq.at[job] + 1);
        c.font = "11px system-ui, sans-serif";
        const long = room > NARROW_TEXT && c.measureText(full).width <= room;
        this.say(long ? full : names[task], x0, x1, y, height, look.text(task), look.plain(task));
      }
    }
    c.strokeStyle = look.faint;
    c.globalAlpha = 0.5;
    c.beginPath(); c.moveTo(this.left, base + 0.5); c.lineTo(this.width, base + 0.5); c.stroke();
    c.globalAlpha = 1;
  }

  /** A bar of one segment, with what of it lies after the deadline marked. */
  bar(s, x0, x1, y, height) {
    const { context: c, trace } = this, { look } = this.app;
    const { jobs, segments } = trace, job = segments.job[s];
    const a = Math.max(x0, this.left - 4), b = Math.min(x1, this.width + 4), width = Math.max(b - a, 1);
    c.fillStyle = look.fill(c, jobs.task[job]);
    c.fillRect(a, y, width, height);
    const due = jobs.deadline.at[job];
    if (trace.missed[job] && segments.end.at[s] > due) {
      const from = Math.max(a, this.x(due));
      c.fillStyle = look.hatch(c, look.late);
      c.fillRect(from, y, b - from, height);
      c.fillStyle = look.miss;
      c.fillRect(from, y - 2, b - from, 3);
    }
    const overhead = width > 3 ? overheadOf(trace, s) : 0;
    if (overhead > 0) {
      const part = width * Math.min(1, overhead / (segments.end.at[s] - segments.start.at[s]));
      c.fillStyle = look.over;
      c.fillRect(a, y + height - 4, Math.max(part, 1), 4);
    }
    if (width > 3) this.drawSpins(s, y, height);
    if (width > 4) {
      c.strokeStyle = "rgba(0,0,0,.45)";
      c.lineWidth = 1;
      c.strokeRect(a + 0.5, y + 0.5, width - 1, height - 1);
    }
  }

  /** Text in the middle of what is visible of a bar. */
  say(text, x0, x1, y, height, colour, ground) {
    const { context: c } = this;
    const a = Math.max(x0, this.left) + 3, b = Math.min(x1, this.width) - 3;
    if (b - a < 7) return;
    c.font = height < 16 ? "10px system-ui, sans-serif" : "11px system-ui, sans-serif";
    const shown = fitted(c, text, b - a);
    if (!shown) return;
    const width = c.measureText(shown).width, x = (a + b - width) / 2;
    if (ground) { c.fillStyle = ground; c.fillRect(x - 2, y + 2, width + 4, height - 4); }
    c.fillStyle = colour;
    c.textAlign = "left";
    c.fillText(shown, x, y + height / 2 + 0.5);
  }

  /** The jobs of a lane that may be visible, and whether they are too many to draw each. */
  visibleJobs(task) {
    const { trace, app: { view } } = this, { from, order } = trace.jobsOf, arrival = trace.jobs.arrival.at;
    const first = firstAfter(arrival, view.from - trace.longest[task] - 1, from[task], from[task + 1], order);
    const last = firstAfter(arrival, view.to, from[task], from[task + 1], order);
    return { first, last, dense: (last - first) * ROOM > this.plot };
  }

  /** What lies under the bars: jobs that wait, and what is late. */
  underTask(lane) {
    const { context: c, trace } = this, { look } = this.app, { jobs } = trace;
    const { y, height } = this.inside(lane), base = y + height, { from, order } = trace.jobsOf;
    lane.jobs = this.visibleJobs(lane.index);
    const { first, last, dense } = lane.jobs;
    if (dense) return;
    for (let k = first; k < last; k++) {
      const job = order[k];
      if (jobs.how[job] === UNKNOWN) continue;
      const end = Math.min(jobs.end.at[job], trace.over), due = jobs.deadline.at[job];
      const previous = k > from[lane.index] ? Math.min(jobs.end.at[order[k - 1]], trace.over) : -Infinity;
      const ready = Math.max(jobs.release.at[job], previous);
      this.drawWait(lane.index, ready, end, base - height / 3);
      if (trace.missed[job] && end > due) {
        const l = Math.max(this.x(due), this.left), r = Math.min(this.x(end), this.width);
        if (r > l) { c.fillStyle = look.hatch(c, look.late); c.fillRect(l, y, r - l, height); }
      }
    }
  }

  drawTask(lane) {
    const { context: c, trace } = this, { look } = this.app, { segments } = trace;
    const task = lane.index, list = trace.taskLanes[task], { y, height } = this.inside(lane), base = y + height;
    for (const i of lane.bars) {
      const s = list.order[i], job = segments.job[s];
      const x0 = this.x(segments.start.at[s]), x1 = this.x(segments.end.at[s]), width = x1 - x0;
      this.bar(s, x0, x1, y, height);
      const next = i + 1 < list.to && segments.job[list.order[i + 1]] === job;
      const before = i > list.from && segments.job[list.order[i - 1]] === job ? list.order[i - 1] : -1;
      const cpu = width > 12 ? cpuOf(trace, s) : -1;
      if (width > 12) this.say(String(cpu), x0, x1, y, height, look.text(task), look.plain(task));
      if (next && width > 8 && !haltAt(trace, task, segments.end.at[s])) {
        // A preempted end is torn.
        c.fillStyle = look.paper;
        c.beginPath();
        for (let k = 0; k < 3; k++) {
          const top = y + (height * k) / 3;
          c.moveTo(x1 + 0.5, top); c.lineTo(x1 - 4, top + height / 6); c.lineTo(x1 + 0.5, top + height / 3);
        }
        c.fill();
      }
      if (before >= 0 && width > 8 && cpuOf(trace, before) !== (cpu < 0 ? cpuOf(trace, s) : cpu)) {
        c.fillStyle = look.ink;
        c.beginPath();
        c.moveTo(x0 - 4, base); c.lineTo(x0, base - 5); c.lineTo(x0 + 4, base); c.lineTo(x0, base + 4);
        c.fill();
      }
    }
    this.drawLocks(task, base);
    c.strokeStyle = look.faint;
    c.beginPath(); c.moveTo(this.left, base + 0.5); c.lineTo(this.width, base + 0.5); c.stroke();
    if (!lane.jobs.dense) this.drawArrows(lane, lane.jobs.first, lane.jobs.last, base);
    this.drawMarks(lane, base);
    this.drawMisses(lane);
  }

  drawArrows(lane, first, last, base) {
    const { context: c, trace } = this, { look } = this.app;
    const { jobs } = trace, { order } = trace.jobsOf, top = Math.floor(lane.y + 2), high = Math.round(base - top);
    const [up, down] = [true, false].map((upwards) => look.arrow(upwards, high, this.scale));
    // At whole pixels the pictures are copied as they are.
    const arrow = ({ image, width, height }, x) => c.drawImage(image, Math.round(x - width / 2), top, width, height);
    for (let k = first; k < last; k++) {
      const job = order[k];
      if (jobs.how[job] === UNKNOWN) continue;
      const x = this.x(jobs.release.at[job]) + 1.5;
      if (x >= this.left && x <= this.width) arrow(up, x);
      if (jobs.deadline.at[job] < Infinity && !trace.missed[job]) {
        const d = this.x(jobs.deadline.at[job]) - 1.5;
        if (d >= this.left && d <= this.width) arrow(down, d);
      }
    }
  }

  /** Budgets have pictures: ‖ without budget, ○ replenished, ▾ used up. Of every other kind the sign is drawn. */
  drawMarks(lane, base) {
    const { context: c, trace, app } = this, { look, view } = app, { marks } = trace;
    const { from, order } = trace.marksOf, task = lane.index;
    const first = firstAfter(marks.at.at, view.from - 1, from[task], from[task + 1], order);
    const last = firstAfter(marks.at.at, view.to, from[task], from[task + 1], order);
    if ((last - first) * ROOM > this.plot) return;
    c.strokeStyle = c.fillStyle = look.ink;
    c.font = "10px system-ui, sans-serif";
    c.textAlign = "left";
    for (let k = first; k < last; k++) {
      const i = order[k], x = this.x(marks.at.at[i]), y = base + 1;
      c.beginPath();
      switch (marks.kinds[marks.kind[i]].name) {
        case "throttled": c.fillRect(x - 3, y - 3, 2, 6); c.fillRect(x + 1, y - 3, 2, 6); break;
        case "replenished": c.fillStyle = look.paper; c.arc(x, y, 2.8, 0, 7); c.fill(); c.stroke(); c.fillStyle = look.ink; break;
        case "budget_exhausted": c.moveTo(x - 4, y - 4); c.lineTo(x + 4, y - 4); c.lineTo(x, y + 2); c.fill(); break;
        default: c.fillText(marks.signs[marks.sign[i]], x + 2, lane.y + 6);
      }
    }
  }

  /** Misses are drawn however many there are: one at least every few pixels. */
  drawMisses(lane) {
    const { context: c, trace, app } = this, { look, view } = app;
    const { jobs } = trace, { from, order } = trace.missesOf, task = lane.index;
    const due = jobs.deadline.at, top = Math.round(lane.y + 7), perPixel = (view.to - view.from) / this.plot;
    const end = from[task + 1];
    let k = firstAfter(due, view.from - perPixel * 8, from[task], end, order);
    if (k >= end || due[order[k]] > view.to) return;
    const [alone, crowd] = [look.cross(4.5, this.scale), look.cross(3, this.scale)];
    c.fillStyle = look.miss;
    c.font = "600 11px system-ui, sans-serif";
    c.textAlign = "left";
    while (k < end && due[order[k]] <= view.to) {
      const x = Math.round(this.x(due[order[k]]));
      // Those so near that their crosses would lie over this one are told by this one.
      let next = k + 1;
      if (next < end && due[order[next]] <= due[order[k]] + 5 * perPixel) {
        next = firstAfter(due, due[order[k]] + 5 * perPixel, next, end, order);
      }
      const single = next - k === 1;
      c.fillRect(x - 1, lane.y + 1, 2, lane.height - 3);
      const { image, width: size } = single || next >= end ? alone : crowd;
      c.drawImage(image, x - size / 2, top - size / 2, size, size);
      const after = next < end ? this.x(due[order[next]]) : Infinity, room = Math.min(after - 8, this.width) - x - 8;
      if (single && room > NARROW_TEXT) {
        const late = lateness(trace, order[k]), width = c.measureText(late).width;
        if (width <= room) {
          c.fillStyle = look.paper;
          c.globalAlpha = 0.8;
          c.fillRect(x + 6, lane.y + 1, width + 4, 12);
          c.globalAlpha = 1;
          c.fillStyle = look.miss;
          c.fillText(late, x + 8, top);
        }
      }
      k = next;
    }
  }

  /** Lines between the CPUs where a job stopped on one and went on on another. */
  drawMigrations() {
    const { context: c, trace, app } = this, { look, view } = app, { segments } = trace;
    let visible = 0;
    for (const { from, to } of trace.cpuLanes) {
      visible += firstAfter(segments.start.at, view.to, from, to) - firstAfter(segments.start.at, view.from, from, to);
    }
    // More lines than this hide the lanes.
    if (visible > 900) return;
    const centres = [];
    for (const lane of this.lanes) if (lane.kind === "cpu") centres[lane.index] = lane.y + lane.height / 2;
    const centre = (cpu) => centres[cpu] ?? null;
    c.strokeStyle = c.fillStyle = look.ink;
    for (const lane of trace.taskLanes) {
      const start = segments.start.at;
      let i = Math.max(lane.from, firstAfter(start, view.from, lane.from, lane.to, lane.order) - 1);
      for (; i < lane.to && start[lane.order[i]] <= view.to; i++) {
        if (i === lane.from) continue;
        const s = lane.order[i], before = lane.order[i - 1];
        const [a, b] = [cpuOf(trace, before), cpuOf(trace, s)];
        if (a === b) continue;
        const within = segments.job[before] === segments.job[s];
        const [ya, yb] = [centre(a), centre(b)];
        if (ya === null || yb === null) continue;
        const [xa, xb] = [Math.max(this.x(segments.end.at[before]), -9999), this.x(start[s])];
        if (!within && xb - xa > 60) continue;
        c.setLineDash(within ? [] : [2, 3]);
        c.globalAlpha = within ? 1 : 0.55;
        c.beginPath();
        c.moveTo(xa, ya);
        const bend = Math.min(20, Math.abs(yb - ya) / 2);
        c.bezierCurveTo(xa + bend, ya, xb - bend, yb, xb - 4, yb);
        c.stroke();
        c.setLineDash([]);
        c.beginPath(); c.moveTo(xb, yb); c.lineTo(xb - 6, yb - 3.5); c.lineTo(xb - 6, yb + 3.5); c.fill();
      }
    }
    c.globalAlpha = 1;
  }
}

/** How late a job that missed its deadline was, in words. */
function lateness(trace, job) {
  const { jobs } = trace;
  if (jobs.how[job] === ABORTED) return "aborted";
  const due = jobs.deadline.exact(job);
  if (jobs.how[job] === COMPLETED) return timeText(jobs.end.exact(job) - due) + " late";
  const overdue = trace.overExact - due;
  return overdue > 0n ? "not done, " + timeText(overdue) + " over" : "not done";
}
