// A panel: the lanes of one trace on a canvas. Draws what is visible and nothing else.

const AXIS = 24;
/** Marks closer together than this many pixels are left out (misses never are). */
const ROOM = 5;

class Panel {
  constructor(app, index) {
    this.app = app;
    this.index = index;
    this.element = document.getElementById("panel-" + index);
    this.scroller = this.element.querySelector(".scroller");
    this.spacer = this.element.querySelector(".spacer");
    this.canvas = this.element.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.scroller.addEventListener("scroll", () => app.redraw(), { passive: true });
  }

  /** Lays out the lanes: which there are and how high they are. */
  layout(mode) {
    const { trace, app } = this;
    const lanes = this.lanes = [];
    const tasks = app.names.length, cpus = trace.cpus.length;
    const cpuHeight = cpus <= 8 ? 30 : cpus <= 24 ? 22 : 16;
    const taskHeight = tasks <= 8 ? 46 : tasks <= 24 ? 34 : 24;
    let y = 4;
    const add = (kind, index, height) => { lanes.push({ kind, index, y, height }); y += height; };
    if (mode !== "tasks") for (let i = 0; i < cpus; i++) add("cpu", i, cpuHeight);
    if (mode === "both") y += 8;
    if (mode !== "cpus") for (const task of app.order) add("task", task, taskHeight);
    this.content = y + 6;
    this.resize();
  }

  resize() {
    const printing = this.app.printing;
    const most = printing ? 2400 : Math.max(260, Math.floor(window.innerHeight * 0.78));
    const height = Math.min(this.content + AXIS, most);
    this.spacer.style.height = this.content + AXIS + "px";
    this.scroller.style.maxHeight = height + "px";
    this.width = this.spacer.clientWidth;
    this.height = height;
    const scale = Math.max(printing ? 2 : 1, Math.min(window.devicePixelRatio || 1, 3));
    this.canvas.style.height = height + "px";
    if (this.canvas.width !== Math.round(this.width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(this.width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    this.scale = scale;
    this.context.font = "600 12px system-ui, sans-serif";
    const widest = Math.max(...this.app.names.slice(0, 2000).map((name) => this.context.measureText(name.slice(0, 40)).width), 34);
    const note = this.app.misses.length ? 14 + 8 * String(Math.min(99999, this.app.misses.length)).length : 0;
    this.left = Math.round(Math.min(widest + 32 + note, Math.max(this.width * 0.24, 96), 220));
  }

  get plot() { return Math.max(this.width - this.left - 8, 20); }
  x(at) {
    const { from, to } = this.app.view;
    return this.left + ((at - from) / (to - from)) * this.plot;
  }
  time(x) {
    const { from, to } = this.app.view;
    return from + ((x - this.left) / this.plot) * (to - from);
  }
  laneAt(y) {
    const inside = y - AXIS + this.scroller.scrollTop;
    return y < AXIS ? undefined : this.lanes.find((lane) => inside >= lane.y && inside < lane.y + lane.height);
  }
  showLane(task) {
    const lane = this.lanes.find((lane) => lane.kind === "task" && lane.index === task);
    if (!lane) return;
    const top = this.scroller.scrollTop, room = this.height - AXIS;
    if (lane.y < top || lane.y + lane.height > top + room) this.scroller.scrollTop = Math.max(0, lane.y - room / 2);
  }

  draw() {
    const { context: c, app, trace } = this;
    const look = app.look;
    c.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    c.fillStyle = look.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    const ticks = app.ticks(this.plot);
    const top = this.scroller.scrollTop;
    const shown = this.lanes.filter((lane) => lane.y + lane.height > top && lane.y < top + this.height - AXIS);
    c.save();
    c.beginPath();
    c.rect(0, AXIS, this.width, this.height - AXIS);
    c.clip();
    c.translate(0, AXIS - top);
    shown.forEach((lane, at) => {
      c.fillStyle = look.lane;
      if (lane.index % 2 === 0) c.fillRect(0, lane.y, this.width, lane.height);
    });
    c.strokeStyle = look.line;
    c.lineWidth = 1;
    c.beginPath();
    for (const { at } of ticks.list) {
      const x = Math.round(this.x(at)) + 0.5;
      c.moveTo(x, top); c.lineTo(x, top + this.height);
    }
    c.stroke();
    c.save();
    c.beginPath();
    c.rect(this.left, top, this.width - this.left, this.height);
    c.clip();
    this.drawFocus(top);
    for (const lane of shown) {
      if (lane.kind === "cpu") this.drawCpu(lane); else this.drawTask(lane);
    }
    if (app.mode !== "tasks") this.drawMigrations(top);
    this.drawEnd(top);
    if (app.selected && app.selected.panel === this) this.drawSelected(shown);
    c.restore();
    for (const lane of shown) this.drawLabel(lane);
    c.restore();
    this.drawAxis(ticks);
  }

  drawAxis({ list, base }) {
    const { context: c } = this, { look, cursor } = this.app;
    c.fillStyle = look.paper;
    c.fillRect(0, 0, this.width, AXIS);
    c.strokeStyle = look.faint;
    c.fillStyle = look.faint;
    c.font = "11px system-ui, sans-serif";
    c.beginPath();
    c.moveTo(this.left, AXIS - 0.5); c.lineTo(this.width, AXIS - 0.5);
    if (base) { c.textAlign = "left"; c.fillText(base, 6, AXIS / 2 - 2); }
    c.textAlign = "center";
    for (const { at, text } of list) {
      const x = Math.round(this.x(at)) + 0.5;
      c.moveTo(x, AXIS - 5); c.lineTo(x, AXIS);
      const half = c.measureText(text).width / 2;
      if (x - half > this.left - 12 && x + half < this.width) c.fillText(text, x, AXIS / 2 - 2);
    }
    c.stroke();
    if (cursor !== null) {
      const x = this.x(cursor);
      if (x >= this.left) {
        c.strokeStyle = look.accent;
        c.beginPath(); c.moveTo(x, 0); c.lineTo(x, this.height); c.globalAlpha = 0.6; c.stroke(); c.globalAlpha = 1;
      }
    }
    const box = this.app.box;
    if (box) {
      c.fillStyle = look.accent;
      c.globalAlpha = 0.2;
      const [a, b] = [this.x(Math.min(...box)), this.x(Math.max(...box))];
      c.fillRect(a, 0, b - a, this.height);
      c.globalAlpha = 1;
    }
  }

  drawLabel(lane) {
    const { context: c, app, trace } = this, { look } = app;
    const y = lane.y + lane.height / 2;
    c.textAlign = "left";
    if (lane.kind === "cpu") {
      c.font = "12px system-ui, sans-serif";
      c.fillStyle = look.faint;
      c.fillText("CPU " + lane.index, 8, y);
      return;
    }
    const count = trace.missesOf.from[lane.index + 1] - trace.missesOf.from[lane.index];
    c.fillStyle = look.fill(c, lane.index);
    c.fillRect(8, y - 5, 9, 10);
    c.strokeStyle = look.faint;
    c.strokeRect(8.5, y - 4.5, 8, 9);
    const found = app.found === lane.index;
    c.font = (count || found ? "600 " : "") + "12px system-ui, sans-serif";
    c.fillStyle = count ? look.miss : look.ink;
    const note = count ? "✗" + (count > 9999 ? Math.round(count / 1000) + "k" : count) : "";
    const room = note ? c.measureText(note).width + 5 : 0;
    const name = fitted(c, app.names[lane.index], this.left - 28 - room);
    c.fillText(name, 22, y);
    if (found) {
      c.fillRect(22, y + 8, c.measureText(name).width, 2);
    }
    if (note) { c.textAlign = "right"; c.fillText(note, this.left - 4, y); }
  }

  /** Draws columns of a pixel; equal neighbours are one rectangle. Call it with nothing to end. */
  columns(base, height) {
    const { context: c } = this, { look } = this.app;
    let from = 0, to = 0, high = 0, of = -1;
    return (x, share, task) => {
      const h = x === undefined ? 0 : Math.max(1.5, Math.round(share * height * 2) / 2);
      if (x === to && h === high && task === of) { to++; return; }
      if (to > from) {
        c.fillStyle = look.plain(of);
        c.fillRect(from, base - high, to - from, high);
      }
      [from, to, high, of] = [x, x + 1, h, task];
    };
  }

  /** Calls `bar(s, x0, x1)` for each segment of a lane that has a pixel, `many(x, share, task)` for the others. */
  walk(lane, bar, many) {
    const { trace } = this, { from, to } = this.app.view;
    const start = trace.segments.start.at, end = trace.segments.end.at;
    const perPixel = (to - from) / this.plot;
    let i = Math.max(lane.from, firstAfter(start, from, lane.from, lane.to, lane.order) - 1);
    while (i < lane.to) {
      const s = lane.at(i);
      if (start[s] >= to) break;
      if (end[s] - start[s] >= 1.5 * perPixel) {
        if (end[s] > from) bar(s, this.x(start[s]), this.x(end[s]), i);
        i++;
        continue;
      }
      // All that starts in the same pixel, up to the next segment that has a bar of its own.
      const x = Math.floor(this.x(start[s]));
      const edge = this.time(x + 1);
      let j = firstAfter(start, edge, i, Math.min(lane.to, i + 1 + (2 * BLOCK)), lane.order);
      if (j === i + 1 + 2 * BLOCK) j = firstAfter(start, edge, j, lane.to, lane.order);
      if (j <= i) j = i + 1;
      if (j - i > 1) {
        const last = lane.at(j - 1);
        if (end[last] - start[last] >= 1.5 * perPixel) j--;
      }
      const { busy, task } = lane.sum(i, j);
      many(x, Math.min(1, busy / perPixel), task, j - i);
      i = j;
    }
  }

  drawCpu(lane) {
    const { context: c, trace } = this, { look, names } = this.app;
    const { jobs, segments } = trace;
    const y = lane.y + 3, height = lane.height - 6, base = y + height;
    for (const [from, to] of trace.offline[lane.index]) {
      const x = Math.max(this.x(from), this.left), right = Math.min(this.x(to), this.width);
      if (right <= x) continue;
      c.fillStyle = look.hatch(c, look.faint);
      c.fillRect(x, y, right - x, height);
      this.say("offline", x, right, y, height, look.ink);
    }
    // A long gap says that it is one: who waits elsewhere could have run here.
    let free = this.x(Math.max(this.app.range.from, 0));
    const gap = (x) => {
      if (x - Math.max(free, this.left) > 60) this.say("idle", free, x, y, height, look.faint);
    };
    const column = this.columns(base, height);
    this.walk(trace.cpuLanes[lane.index], (s, x0, x1) => {
      gap(x0);
      free = x1;
      const job = segments.job[s], task = jobs.task[job];
      this.bar(s, x0, x1, y, height);
      const seq = jobs.seq.at[job] + 1;
      if (x1 - x0 > 14) {
        c.font = "11px system-ui, sans-serif";
        const full = names[task] + " #" + seq;
        const room = Math.min(x1, this.width) - Math.max(x0, this.left) - 8;
        this.say(c.measureText(full).width <= room ? full : names[task], x0, x1, y, height, look.text(task), look.plain(task));
      }
    }, (x, share, task) => {
      gap(x);
      free = x + 1;
      column(x, share, task);
    });
    column();
    gap(Math.min(this.width, this.x(trace.over)));
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
    if (segments.overhead.at[s] > 0 && width > 3) {
      const part = width * Math.min(1, segments.overhead.at[s] / (segments.end.at[s] - segments.start.at[s]));
      c.fillStyle = look.over;
      c.fillRect(a, y + height - 4, Math.max(part, 1), 4);
    }
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

  drawTask(lane) {
    const { context: c, trace, app } = this, { look, view } = app;
    const { jobs, segments } = trace, task = lane.index;
    const arrows = Math.min(16, lane.height * 0.36);
    const y = lane.y + arrows, base = lane.y + lane.height - 4, height = base - y;
    const { from, order } = trace.jobsOf;
    const arrival = jobs.arrival.at;
    const first = firstAfter(arrival, view.from - trace.longest[task] - 1, from[task], from[task + 1], order);
    const last = firstAfter(arrival, view.to, from[task], from[task + 1], order);
    const dense = (last - first) * ROOM > this.plot;
    if (!dense) {
      for (let k = first; k < last; k++) {
        const job = order[k];
        if (jobs.how[job] === UNKNOWN) continue;
        const end = Math.min(jobs.end.at[job], trace.over), due = jobs.deadline.at[job];
        const previous = k > from[task] ? Math.min(jobs.end.at[order[k - 1]], trace.over) : -Infinity;
        const ready = Math.max(jobs.release.at[job], previous);
        const a = Math.max(this.x(ready), this.left), b = Math.min(this.x(end), this.width);
        if (b > a) {
          c.strokeStyle = look.wait;
          c.lineWidth = 2;
          c.setLineDash([2, 3]);
          c.beginPath(); c.moveTo(a, base - height / 3); c.lineTo(b, base - height / 3); c.stroke();
          c.setLineDash([]);
          c.lineWidth = 1;
        }
        if (trace.missed[job] && end > due) {
          const l = Math.max(this.x(due), this.left), r = Math.min(this.x(end), this.width);
          if (r > l) { c.fillStyle = look.hatch(c, look.late); c.fillRect(l, y, r - l, height); }
        }
      }
    }
    const column = this.columns(base, height);
    this.walk(trace.taskLanes[task], (s, x0, x1, i) => {
      this.bar(s, x0, x1, y, height);
      const lane = trace.taskLanes[task], job = segments.job[s];
      const next = i + 1 < lane.to && segments.job[lane.order[i + 1]] === job;
      const before = i > lane.from && segments.job[lane.order[i - 1]] === job ? lane.order[i - 1] : -1;
      const width = x1 - x0;
      const cpu = width > 12 ? cpuOf(trace, s) : -1;
      if (width > 12) this.say(String(cpu), x0, x1, y, height, look.text(task), look.plain(task));
      if (next && width > 8) {
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
    }, (x, share) => column(x, share, task));
    column();
    c.strokeStyle = look.faint;
    c.beginPath(); c.moveTo(this.left, base + 0.5); c.lineTo(this.width, base + 0.5); c.stroke();
    if (!dense) this.drawArrows(lane, first, last, base, y);
    this.drawMarks(lane, base);
    this.drawMisses(lane, base, y);
  }

  drawArrows(lane, first, last, base, y) {
    const { context: c, trace } = this, { look } = this.app;
    const { jobs } = trace, { order } = trace.jobsOf, top = lane.y + 3;
    c.strokeStyle = c.fillStyle = look.ink;
    c.lineWidth = 1.2;
    c.beginPath();
    const heads = new Path2D();
    for (let k = first; k < last; k++) {
      const job = order[k];
      if (jobs.how[job] === UNKNOWN) continue;
      const x = this.x(jobs.release.at[job]) + 1.5;
      if (x >= this.left && x <= this.width) {
        c.moveTo(x, base); c.lineTo(x, top);
        heads.moveTo(x - 3.5, top + 5); heads.lineTo(x, top - 1); heads.lineTo(x + 3.5, top + 5);
      }
      if (jobs.deadline.at[job] < Infinity && !trace.missed[job]) {
        const d = this.x(jobs.deadline.at[job]) - 1.5;
        if (d < this.left || d > this.width) continue;
        c.moveTo(d, top); c.lineTo(d, base);
        heads.moveTo(d - 3.5, base - 6); heads.lineTo(d, base); heads.lineTo(d + 3.5, base - 6);
      }
    }
    c.stroke();
    c.fill(heads);
    c.lineWidth = 1;
  }

  /** Budgets: ‖ without budget, ○ replenished, ▾ used up, → moved to another run queue (» pushed, « pulled). */
  drawMarks(lane, base) {
    const { context: c, trace, app } = this, { look, view } = app, { marks } = trace;
    const { from, order } = trace.marksOf, task = lane.index;
    const first = firstAfter(marks.at.at, view.from - 1, from[task], from[task + 1], order);
    const last = firstAfter(marks.at.at, view.to, from[task], from[task + 1], order);
    if ((last - first) * ROOM * 2 > this.plot) return;
    c.strokeStyle = c.fillStyle = look.ink;
    c.font = "10px system-ui, sans-serif";
    c.textAlign = "left";
    for (let k = first; k < last; k++) {
      const i = order[k], x = this.x(marks.at.at[i]), y = base + 1;
      c.beginPath();
      switch (marks.kind[i]) {
        case THROTTLED: c.fillRect(x - 3, y - 3, 2, 6); c.fillRect(x + 1, y - 3, 2, 6); break;
        case REPLENISHED: c.fillStyle = look.paper; c.arc(x, y, 2.8, 0, 7); c.fill(); c.stroke(); c.fillStyle = look.ink; break;
        case BUDGET: c.moveTo(x - 4, y - 4); c.lineTo(x + 4, y - 4); c.lineTo(x, y + 2); c.fill(); break;
        case MOVED: c.fillText("→»«→"[marks.third.at[i] % 4] + marks.second[i], x + 2, lane.y + 6); break;
      }
    }
  }

  /** Misses are drawn however many there are: one at least every few pixels. */
  drawMisses(lane, base, y) {
    const { context: c, trace, app } = this, { look, view } = app;
    const { jobs } = trace, { from, order } = trace.missesOf, task = lane.index;
    const due = jobs.deadline.at;
    let k = firstAfter(due, view.from - ((view.to - view.from) / this.plot) * 8, from[task], from[task + 1], order);
    const end = from[task + 1];
    while (k < end && due[order[k]] <= view.to) {
      const x = this.x(due[order[k]]);
      const next = firstAfter(due, this.time(x + 4), k, end, order);
      const alone = next - k === 1;
      c.fillStyle = look.miss;
      c.fillRect(x - 1, lane.y + 1, 2.5, lane.height - 3);
      const size = alone || next >= end ? 4.5 : 3;
      const top = lane.y + 7;
      c.strokeStyle = look.paper;
      c.lineWidth = 5;
      const cross = new Path2D();
      cross.moveTo(x - size, top - size); cross.lineTo(x + size, top + size);
      cross.moveTo(x + size, top - size); cross.lineTo(x - size, top + size);
      c.stroke(cross);
      c.strokeStyle = look.miss;
      c.lineWidth = 2.6;
      c.stroke(cross);
      c.lineWidth = 1;
      const job = order[k];
      if (alone) {
        const after = next < end ? this.x(due[order[next]]) : Infinity;
        const room = Math.min(after - 8, this.width) - x - 8;
        const late = lateness(trace, job);
        c.font = "600 11px system-ui, sans-serif";
        c.textAlign = "left";
        const width = c.measureText(late).width;
        if (width <= room) {
          c.fillStyle = look.paper;
          c.globalAlpha = 0.8;
          c.fillRect(x + 6, lane.y + 1, width + 4, 12);
          c.globalAlpha = 1;
          c.fillStyle = look.miss;
          c.fillText(late, x + 8, top);
        }
      }
      k = Math.max(next, k + 1);
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
    const centre = (cpu) => {
      const lane = this.lanes[cpu];
      return lane && lane.kind === "cpu" ? lane.y + lane.height / 2 : null;
    };
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

  /** What was not simulated or is not in the file. */
  drawEnd(top) {
    const { context: c } = this, { look, range } = this.app;
    const shade = (x0, x1) => {
      if (x1 - x0 < 1) return;
      c.fillStyle = look.hatch(c, look.line);
      c.fillRect(x0, top, x1 - x0, this.height);
    };
    shade(this.left, Math.min(this.width, this.x(range.from)));
    shade(Math.max(this.left, this.x(Math.min(range.to, this.trace.over))), this.width);
  }

  /** A light behind the miss that the page shows first. */
  drawFocus(top) {
    const { context: c, trace, app } = this;
    const job = app.current && app.current.panel === this ? app.current.job : null;
    if (job === null) return;
    const x = this.x(trace.jobs.deadline.at[job]);
    c.fillStyle = app.look.miss;
    c.globalAlpha = 0.1;
    c.fillRect(x - 12, top, 24, this.height);
    c.globalAlpha = 1;
  }

  /** An outline around everything that the selected job did. */
  drawSelected(shown) {
    const { context: c, trace, app } = this;
    const job = app.selected.job, task = trace.jobs.task[job];
    const found = segmentsOf(trace, job).slice(0, 2000);
    c.lineWidth = 3;
    for (const [colour, width] of [[app.look.paper, 5], [app.look.ink, 2]]) {
      c.strokeStyle = colour;
      c.lineWidth = width;
      for (const lane of shown) {
        if (lane.kind === "task" && lane.index !== task) continue;
        const arrows = lane.kind === "task" ? Math.min(16, lane.height * 0.36) : 3;
        const bottom = lane.kind === "task" ? 4 : 3;
        for (const s of found) {
          if (lane.kind === "cpu" && cpuOf(trace, s) !== lane.index) continue;
          const a = Math.max(this.x(trace.segments.start.at[s]), this.left - 9);
          const b = Math.min(this.x(trace.segments.end.at[s]), this.width + 9);
          if (b >= a) c.strokeRect(a, lane.y + arrows, Math.max(b - a, 1), lane.height - arrows - bottom);
        }
      }
    }
    c.lineWidth = 1;
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
