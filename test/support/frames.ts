// How smoothly the table of results scrolls in Chromium: frames a second, and the memory of the page before and after.
import type { Page } from 'playwright-core';

export interface Scrolled {
  /** Of the intervals between frames: of the median one, and of the longest one. */
  median_fps: number;
  worst_fps: number;
  /** The share of the frames that came within 20 ms of the one before. */
  smooth: number;
}

export interface Memory {
  heap_mb: number;
  /** Elements in the document. */
  elements: number;
}

/** Counts frames while `scroll` runs. */
export async function framesOf(page: Page, scroll: () => Promise<void>): Promise<Scrolled> {
  await page.evaluate(`{
    const frames = (globalThis.frames_at = []);
    const look = (at) => { frames.push(at); if (globalThis.frames_at === frames) requestAnimationFrame(look); };
    requestAnimationFrame(look);
  }`);
  await scroll();
  const at = await page.evaluate<number[]>('{ const seen = frames_at; globalThis.frames_at = null; seen }');
  const ms = at
    .slice(1)
    .map((time, n) => time - at[n]!)
    .sort((a, b) => a - b);
  return {
    median_fps: 1000 / ms[Math.floor(ms.length / 2)]!,
    worst_fps: 1000 / ms.at(-1)!,
    smooth: ms.filter((one) => one <= 20).length / ms.length,
  };
}

/** Turns the wheel so many times, a frame apart. */
export async function wheel(page: Page, turns: number): Promise<void> {
  await page.getByRole('region', { name: 'Results' }).hover();
  for (let n = 0; n < turns; n++) await page.mouse.wheel(0, n % 40 === 39 ? -200 : 120);
}

/** Drags the scroll bar from the top to the end and back. Chromium shows it without `--hide-scrollbars`. */
export async function dragScrollBar(page: Page, steps: number): Promise<void> {
  const box = (await page.locator('.grid').boundingBox())!;
  const [x, top, bottom] = [box.x + box.width - 8, box.y + 22, box.y + box.height - 22];
  await page.locator('.grid').evaluate('(grid) => grid.scrollTo(0, 0)');
  await page.mouse.move(x, top);
  await page.mouse.down();
  for (let n = 0; n <= steps; n++) {
    await page.mouse.move(x, top + (bottom - top) * (1 - Math.abs(1 - (2 * n) / steps)));
  }
  await page.mouse.up();
}

/** After garbage was collected. */
export async function memoryOf(page: Page): Promise<Memory> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  // What the first collection frees holds what the second one does.
  for (let n = 0; n < 2; n++) {
    await page.evaluate('new Promise(requestAnimationFrame)');
    await devtools.send('HeapProfiler.collectGarbage');
  }
  const { metrics } = await devtools.send('Performance.getMetrics');
  await devtools.detach();
  const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')!.value;
  return { heap_mb: heap / 1e6, elements: await page.evaluate<number>("document.querySelectorAll('*').length") };
}
