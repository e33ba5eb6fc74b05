// Colours and patterns. Nothing is told by colour alone: bars have labels, colours that are used a
// second time have a pattern, a miss has its own shape.

// The colours of Okabe and Ito, which are told apart with any kind of colour vision, with the colour
// of text on them.
const PALETTE = [["#0072b2", "#fff"], ["#e69f00", "#000"], ["#009e73", "#000"], ["#cc79a7", "#000"],
  ["#56b4e9", "#000"], ["#f0e442", "#000"], ["#d55e00", "#000"], ["#b0b0b0", "#000"]];

// What is laid over a colour when the colours are used up: paths in a tile of 8 by 8.
const PATTERNS = [
  ["M-2 2l4-4M0 8l8-8M6 10l4-4", "#fff", 2],
  ["M0 2h8M0 6h8", "rgba(0,0,0,.6)", 1.2],
  ["M-2 6l4 4M0 0l8 8M6-2l4 4", "rgba(0,0,0,.6)", 1.4],
  ["M0 4h8M4 0v8", "#fff", 1.6],
  ["M2 0v8M6 0v8", "rgba(0,0,0,.55)", 1.2],
];

class Look {
  constructor() { this.fills = new Map(); this.read(); }
  /** Reads the theme from the style sheet. */
  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["ink", "faint", "line", "paper", "lane", "miss", "late", "wait", "accent", "over"]) {
      this[name] = style.getPropertyValue("--" + name).trim();
    }
    this.fills.clear();
  }
  plain(task) { return PALETTE[task % PALETTE.length][0]; }
  text(task) { return PALETTE[task % PALETTE.length][1]; }
  /** What a bar of a task is filled with. */
  fill(context, task) {
    const variant = Math.floor(task / PALETTE.length) % (PATTERNS.length + 1);
    if (variant === 0) return this.plain(task);
    return this.tile(context, "t" + (task % 48), this.plain(task), PATTERNS[variant - 1]);
  }
  /** A picture of a sign that may be there thousands of times: drawn once, then copied. */
  sign(key, width, height, scale, paint) {
    key += [width, height, scale];
    let found = this.fills.get(key);
    if (!found) {
      const image = document.createElement("canvas");
      image.width = Math.round(width * scale);
      image.height = Math.round(height * scale);
      const c = image.getContext("2d");
      c.scale(image.width / width, image.height / height);
      paint(c);
      found = { image, width, height };
      this.fills.set(key, found);
    }
    return found;
  }
  /** The cross of a miss, with a halo. */
  cross(arm, scale) {
    const middle = Math.ceil(arm + 3);
    return this.sign("cross" + arm, 2 * middle, 2 * middle, scale, (c) => {
      c.translate(middle, middle);
      for (const [colour, width] of [[this.paper, 5], [this.miss, 2.6]]) {
        c.strokeStyle = colour;
        c.lineWidth = width;
        c.beginPath();
        c.moveTo(-arm, -arm); c.lineTo(arm, arm); c.moveTo(arm, -arm); c.lineTo(-arm, arm);
        c.stroke();
      }
    });
  }
  /** An arrow of this height, up or down. */
  arrow(up, height, scale) {
    return this.sign(up ? "up" : "down", 8, height, scale, (c) => {
      if (!up) { c.translate(0, height); c.scale(1, -1); }
      c.fillStyle = this.ink;
      c.fillRect(3.4, 1, 1.2, height - 1);
      c.beginPath();
      c.moveTo(0.5, 6); c.lineTo(4, 0); c.lineTo(7.5, 6);
      c.fill();
    });
  }
  /** Dots on a line, for what waits. */
  dots(context) { return this.tile(context, "dots", null, ["M1 0v8M5 0v8", this.wait, 2]); }
  /** Waves, for a job that spins. */
  waves(context) { return this.tile(context, "waves", null, ["M0 2q2 -3 4 0t4 0M0 6q2 -3 4 0t4 0", "#000", 1]); }
  /** The hatching of what is late, waits, or cannot be used. */
  hatch(context, colour) {
    return this.tile(context, "h" + colour, null, ["M-2 2l4-4M0 8l8-8M6 10l4-4", colour, 1.6]);
  }
  tile(context, key, ground, [path, colour, width]) {
    let fill = this.fills.get(key);
    if (!fill) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 16;
      const c = canvas.getContext("2d");
      if (ground) { c.fillStyle = ground; c.fillRect(0, 0, 16, 16); }
      c.scale(2, 2);
      c.strokeStyle = colour;
      c.lineWidth = width;
      c.stroke(new Path2D(path));
      fill = context.createPattern(canvas, "repeat");
      fill.setTransform(new DOMMatrix([0.5, 0, 0, 0.5, 0, 0]));
      this.fills.set(key, fill);
    }
    return fill;
  }
}

/** Text that fits into a width, cut with an ellipsis; nothing if not even two characters fit. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle; else high = middle - 1;
  }
  return low < 2 ? "" : text.slice(0, low) + "…";
}
