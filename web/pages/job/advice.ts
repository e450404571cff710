// What to do about a result: the guide of the verdicts in a sentence.
import type { Result } from './use-pages.ts';

const OF_CODES: Readonly<Record<number, string>> = {
  401: 'The page requires a login. Look at it in your browser.',
  403: 'The page refuses programs, or requires a login. Look at it in your browser.',
  404: 'The page is not there. Correct the link or remove it.',
  410: 'The page is gone for good. Remove the link.',
  429: 'The site was busy at every attempt. Check it again later before you remove anything.',
};

const OF_ERRORS: Readonly<Record<string, string>> = {
  dns_not_found:
    'The name of the host does not exist: a typing error, or a domain that has run out. Mend or remove it.',
  dns_failed: 'The name of the host could not be looked up. Check it again later.',
  connection_refused: 'Nothing listens there. The site may be down: check it again later.',
  tls_expired: "The site's certificate has expired. Browsers warn about it: tell the site.",
  tls_hostname: "The site's certificate is for another name. Look whether the name is written right.",
  tls_untrusted: "The site's certificate is not trusted. Browsers warn about it: tell the site.",
  too_many_redirects: 'The redirects do not end. Link to the page that you mean.',
  redirect_loop: 'The redirects lead in a circle. Link to the page that you mean.',
  blocked_address: 'The address is private, and is not checked.',
  checker_fault: 'The check failed for a reason of our own. Check it again.',
};

export function adviceOn({
  verdict,
  status_code,
  error_code,
  redirect_kind,
}: Pick<Result, 'verdict' | 'status_code' | 'error_code' | 'redirect_kind'>): string {
  switch (verdict) {
    case 'ok':
      return 'It loads normally. There is nothing to do.';
    case 'redirected':
      return redirect_kind === 'permanent'
        ? 'It has moved for good. Link to the last address.'
        : 'It redirects to another address. Link to the last address when the redirect is for good.';
    case 'soft_404':
      return 'It says 200, but the page is missing. Open it: readers and search engines treat it as a 404.';
    case 'blocked':
      return 'Bot protection hides the page, which may well be alive. Open it in your browser; do not remove it for this.';
    case 'unreachable':
      return OF_ERRORS[error_code ?? ''] ?? 'No usable answer came. Check it again later before you remove anything.';
    case 'broken':
      return (
        OF_CODES[status_code ?? 0] ??
        'The site answered with an error at every attempt. Check it again later before you remove anything.'
      );
  }
}
