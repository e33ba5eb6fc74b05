// Lanes of criticality levels: the lowest criticality whose jobs a CPU runs, as steps as high as the level,
// with its name where there is room.

/** Draws lanes of levels beside the others. */
class LevelDrawing extends LaneDrawing {
  drawLevels(lane) {
    const { context: c, trace, app: { look, view, levels } } = this;
    const spans = trace.levels[lane.index], highest = Math.max(levels.length - 1, 1);
    const bottom = lane.y + lane.height - 2.5, high = lane.height - 5;
    c.lineWidth = 1;
    c.font = "10px system-ui, sans-serif";
    c.textAlign = "left";
    for (let k = levelAt(spans, view.from); k < spans.length && spans[k].from < view.to; k++) {
      // Of those that begin and end within one pixel the highest is drawn.
      const { from } = spans[k], edge = this.time(Math.floor(this.x(from)) + 1);
      let { level } = spans[k];
      while (spans[k].to < edge && k + 1 < spans.length && spans[k + 1].to < edge) level = Math.max(level, spans[++k].level);
      const a = Math.max(this.x(from), this.left - 4), b = Math.min(Math.max(this.x(spans[k].to), a + 1), this.width + 4);
      if (b <= this.left) continue;
      const y = bottom - Math.round((high * level) / highest);
      c.fillStyle = look.faint;
      c.globalAlpha = 0.35;
      c.fillRect(a, y, b - a, bottom - y);
      c.globalAlpha = 1;
      c.strokeStyle = look.ink;
      c.beginPath(); c.moveTo(a, bottom); c.lineTo(a, y); c.lineTo(b, y); c.lineTo(b, bottom); c.stroke();
      const x = Math.max(a, this.left) + 4;
      if (b - x < 12 || c.measureText(levels[level]).width + 4 > b - x) continue;
      c.fillStyle = level ? look.ink : look.faint;
      c.fillText(levels[level], x, lane.y + lane.height / 2 - (level ? 0 : 1));
    }
  }
}

/** The position of the span of levels in which a time lies. */
function levelAt(spans, at) {
  let low = 0, high = spans.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (spans[middle].from <= at) low = middle; else high = middle - 1;
  }
  return low;
}
