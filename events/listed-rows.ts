// The compact form of the rows that a chunk of URLs came from, and back. Most lists have one URL a row, so that the first row is all
// there is to keep.

/**
 * Folds the rows of consecutive URLs: the first row, then a pair for each place where the next URL is not in the next row: how many URLs
 * follow each other before it, and how many rows it is further.
 * @example foldRows([2, 3, 4, 6, 6, 7]) // [2, 3, 2, 1, 0]: after 3 URLs 2 rows further, after 1 URL in the same row
 */
export function foldRows(rows: readonly number[]): number[] {
  const folded = [rows[0]!];
  let run = 1;
  for (let at = 1; at < rows.length; at++, run++) {
    const step = rows[at]! - rows[at - 1]!;
    if (step === 1) continue;
    folded.push(run, step);
    run = 0;
  }
  return folded;
}

/**
 * Returns the rows of the URLs at the places `from` (inclusive) to `to` (exclusive) of a chunk.
 * @example unfoldRows([2, 3, 2, 1, 0], 1, 6) // [3, 4, 6, 6, 7]
 */
export function unfoldRows(folded: readonly number[], from: number, to: number): number[] {
  const rows: number[] = [];
  let row = folded[0]!;
  let next_step = 1;
  let run_left = folded[1] ?? Number.POSITIVE_INFINITY;
  for (let at = 0; at < to; at++) {
    if (run_left === 0) {
      row += folded[next_step + 1]! - 1;
      next_step += 2;
      run_left = folded[next_step] ?? Number.POSITIVE_INFINITY;
    }
    if (at >= from) rows.push(row);
    row++;
    run_left--;
  }
  return rows;
}
