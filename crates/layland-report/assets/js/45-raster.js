// What is too narrow for a bar of its own is drawn as columns of a pixel. Thousands of rectangles
// would cost more than everything else in a frame, so columns are written into an array of pixels,
// which reaches the canvas as one picture.

/** From this many pixels on a segment is a bar. */
const BAR = 4;
/** From this many pixels on a segment is drawn by itself, in whole pixels; narrower ones are sums. */
const ALONE = 1.5;

/** The columns of one panel: one pixel of the page wide, as fine as the screen in height. */
class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.width = this.height = 0;
    this.inks = new Map();
  }

  /** An empty raster of this size. */
  begin(width, height, scale) {
    this.scale = scale;
    height = Math.round(height * scale);
    if (width !== this.width || height !== this.height || !this.image) {
      Object.assign(this, { width, height });
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.high = new Int16Array(width);
      this.ink = new Uint32Array(width);
    } else if (this.used) this.pixels.fill(0);
    this.used = false;
    this.filled = false;
  }

  /** The pixel of a colour of the palette. */
  inkOf(look, task) {
    const colour = look.plain(task);
    let ink = this.inks.get(colour);
    if (ink === undefined) {
      const bytes = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
      ink = new Uint32Array(new Uint8Array([...bytes, 255]).buffer)[0];
      this.inks.set(colour, ink);
    }
    return ink;
  }

  /** Columns [from, to) of the lane that is being gathered, as high as a share of it. */
  fill(from, to, share, ink, height) {
    const high = Math.round(Math.max(1.5, share * height) * this.scale);
    from = Math.max(from, 0);
    to = Math.min(to, this.width);
    for (let x = from; x < to; x++) {
      if (high < this.high[x]) continue;
      this.high[x] = high;
      this.ink[x] = ink;
    }
    if (to > from) this.filled = true;
  }

  /** Ends a lane, which stands on this line: row by row, as the pixels lie in memory. */
  end(base, height) {
    if (!this.filled) return;
    const { width, pixels, high, ink } = this, bottom = Math.round(base * this.scale);
    for (let row = Math.round(height * this.scale); row > 0; row--) {
      const y = bottom - row;
      if (y < 0 || y >= this.height) continue;
      for (let x = 0, at = y * width; x < width; x++, at++) if (high[x] >= row) pixels[at] = ink[x];
    }
    high.fill(0);
    this.filled = false;
    this.used = true;
  }

  /** Puts everything on a canvas. */
  draw(c, x, y) {
    if (!this.used) return;
    this.context.putImageData(this.image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(this.canvas, x, y, this.width, this.height / this.scale);
    c.imageSmoothingEnabled = true;
  }
}

/** Finds out what a lane shows: bars, which it returns as positions in the list, and columns, which go
 *  into the raster, in the colour of their task or of the one that is given. `gaps`, if given, gets the
 *  edges of where nothing is. All in pixels from the left end of the plot. */
function gather(panel, list, raster, height, colour, gaps) {
  const { trace, app: { look, range, view: { from, to } }, plot } = panel, { segments, jobs } = trace;
  const start = segments.start.at, end = segments.end.at;
  const { order, to: last } = list, bars = [];
  const perPixel = (to - from) / plot, wide = BAR * perPixel, narrow = ALONE * perPixel;
  const own = colour === null ? 0 : raster.inkOf(look, colour);
  let free = (Math.max(range.from, 0, from) - from) / perPixel;
  const busyFrom = (x) => { if (gaps && x - free > 60) gaps.push(free, x); };
  let i = Math.max(list.from, firstAfter(start, from, list.from, last, order) - 1);
  while (i < last) {
    const s = order ? order[i] : i, a = start[s], b = end[s], length = b - a;
    if (a >= to) break;
    const x0 = (a - from) / perPixel;
    if (length >= narrow) {
      if (b > from) {
        const x1 = (b - from) / perPixel;
        busyFrom(x0);
        free = x1;
        if (length >= wide) bars.push(i);
        else {
          const left = Math.round(x0), ink = colour === null ? raster.inkOf(look, jobs.task[segments.job[s]]) : own;
          raster.fill(left, Math.max(Math.round(x1), left + 1), 1, ink, height);
        }
      }
      i++;
      continue;
    }
    // All that starts in the same pixel, up to the next segment that is drawn by itself.
    const x = Math.floor(x0), edge = from + (x + 1) * perPixel;
    let busy = length, most = length, task = jobs.task[segments.job[s]], j = i + 1;
    const near = Math.min(last, i + BLOCK);
    for (; j < near; j++) {
      const t = order ? order[j] : j;
      if (start[t] > edge) break;
      const more = end[t] - start[t];
      if (more >= narrow) break;
      busy += more;
      if (more > most) { most = more; task = jobs.task[segments.job[t]]; }
    }
    if (j === near && j < last) {
      // Many: in growing steps to where the pixel ends, and their sum from the pyramid.
      let step = BLOCK;
      while (j + step < last && start[order ? order[j + step] : j + step] <= edge) step *= 2;
      j = firstAfter(start, edge, j, Math.min(last, j + step + 1), order);
      const t = order ? order[j - 1] : j - 1;
      if (j - i > 1 && end[t] - start[t] >= narrow) j--;
      ({ busy, task } = list.sum(i, j));
    }
    busyFrom(x);
    free = x + 1;
    raster.fill(x, x + 1, Math.min(1, busy / perPixel), colour === null ? raster.inkOf(look, task) : own, height);
    i = j;
  }
  busyFrom(Math.min(plot + 8, (trace.over - from) / perPixel));
  return bars;
}
