// Looks that repeat for as long as a process serves.

/** Runs `work` now, and again `every_ms` after its end, whatever its outcome. Returns a function that ends it. */
export function repeatedly(work: () => Promise<void>, every_ms: number): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const run = async () => {
    await work().catch(() => {});
    if (!stopped) timer = setTimeout(run, every_ms);
  };
  void run();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
