// Numbers for people.

/** A whole number that is not negative, with commas between thousands. `toLocaleString` takes 14 ms of a start for its first number. */
export function grouped(value: number): string {
  let text = String(value);
  for (let at = text.length - 3; at > 0; at -= 3) text = `${text.slice(0, at)},${text.slice(at)}`;
  return text;
}
