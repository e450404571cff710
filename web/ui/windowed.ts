// Windowing of a list whose rows have one height: which rows are in view, and where they stand. A browser lays out no more than some
// million pixels, so that a longer list scrolls by a part of its height.

export const ROW_PX = 32;
/** Firefox's limit is 17.8 million, Chromium's 33.5 million. */
const MAX_HEIGHT_PX = 16_000_000;
/** Rows beyond the edges, so that a fast scroll shows none missing. */
const SPARE_ROWS = 8;

export interface Window {
  /** The height of all rows. */
  height_px: number;
  /** The first row to show and the one after the last. */
  first: number;
  end: number;
  /** Where the first row stands. */
  top_px: number;
}

/** @example windowOf(1_000_000, { top_px: 0, height_px: 640 }) // { first: 0, end: 28, … } */
export function windowOf(rows: number, view: { top_px: number; height_px: number }): Window {
  const whole_px = rows * ROW_PX;
  const height_px = Math.min(whole_px, MAX_HEIGHT_PX);
  const scrollable_px = Math.max(1, height_px - view.height_px);
  const top_px = Math.min(Math.max(0, view.top_px), scrollable_px);
  // Where the view stands among all rows, in their own pixels.
  const real_px = whole_px <= height_px ? top_px : (top_px / scrollable_px) * (whole_px - view.height_px);
  const first = Math.max(0, Math.floor(real_px / ROW_PX) - SPARE_ROWS);
  const end = Math.min(rows, Math.ceil((real_px + view.height_px) / ROW_PX) + SPARE_ROWS);
  return { height_px, first, end, top_px: top_px - (real_px - first * ROW_PX) };
}
