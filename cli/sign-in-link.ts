// The link that signs a browser in once, and shows a page of the console.

/** The code stands after the #, which browsers send to nobody: it reaches no log. */
export const signInLink = (public_url: string, code: string, page?: string) =>
  `${public_url}/console/sign-in${page === undefined ? '' : `?${new URLSearchParams({ next: page })}`}#${code}`;
