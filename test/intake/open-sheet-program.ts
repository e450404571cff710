// Opens a file as the service does and reads it to its end, in a process of its own whose memory a test can measure.
// Prints the result, and the memory that it took.
import { collectUrls } from '../../intake/collect-urls.ts';
import { openSheet } from '../../intake/open-sheet.ts';

const [path = ''] = process.argv.slice(2);
const outcome = async () => {
  const sheet = await openSheet(path, 'x.xlsx', { max_inflated_bytes: 1024 ** 3 });
  const urls = collectUrls(sheet.cells());
  await Array.fromAsync(urls);
  return urls.summary.accepted;
};
// The memory of the code itself is counted before. The system's own maximum would include the parent's.
const before = process.memoryUsage.rss();
let most = before;
const look = () => (most = Math.max(most, process.memoryUsage.rss()));
setInterval(look, 5).unref();
const result = await outcome().catch((error: Error & { code?: string }) => error.code ?? error.stack);
look();
process.stdout.write(JSON.stringify({ result, grown_bytes: most - before }));
