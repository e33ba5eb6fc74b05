// A panel: the lanes of one trace on a canvas. Draws what is visible and nothing else.

const AXIS = 24;

class Panel extends LevelDrawing {
  constructor(app, index) {
    super();
    this.app = app;
    this.index = index;
    this.element = document.getElementById("panel-" + index);
    this.scroller = this.element.querySelector(".scroller");
    this.spacer = this.element.querySelector(".spacer");
    this.canvas = this.element.querySelector("canvas");
    this.context = this.canvas.getContext("2d");
    this.raster = new Raster();
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
    for (let i = 0; i < cpus; i++) {
      if (mode !== "tasks") add("cpu", i, cpuHeight);
      if (trace.levels) add("level", i, 20);
    }
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
    this.raster.begin(Math.ceil(this.width - this.left), this.height - AXIS, this.scale);
    for (const lane of shown) {
      if (lane.kind === "level") continue;
      this.gather(lane, top);
      if (lane.kind === "cpu") this.underCpu(lane); else this.underTask(lane);
    }
    this.raster.draw(c, this.left, top);
    for (const lane of shown) {
      if (lane.kind === "cpu") this.drawCpu(lane);
      else if (lane.kind === "task") this.drawTask(lane);
      else this.drawLevels(lane);
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
    if (lane.kind !== "task") {
      c.font = "12px system-ui, sans-serif";
      c.fillStyle = look.faint;
      const ofCpu = app.mode === "tasks" && trace.cpus.length > 1;
      if (lane.kind === "cpu") c.fillText("CPU " + lane.index, 8, y);
      else c.fillText(ofCpu ? "CPU " + lane.index + " level" : "level", ofCpu ? 8 : 22, y);
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
        if (lane.kind === "level" || (lane.kind === "task" && lane.index !== task)) continue;
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

