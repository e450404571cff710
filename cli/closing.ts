// Closes what a command has opened at the end of the block, however that ends.

/** @example await using source = closing(await openSource(run)); */
export function closing<Opened extends { close(): unknown }>(opened: Opened): Opened & AsyncDisposable {
  return Object.assign(opened, { [Symbol.asyncDispose]: async () => void (await opened.close()) });
}

/** The error of the block, where closing what it had opened failed as well. */
export function errorOfBlock(error: unknown): unknown {
  return error instanceof SuppressedError ? errorOfBlock(error.suppressed) : error;
}
