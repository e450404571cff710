// Signs in: by the one-time link that this page was opened with, or at the identity provider.
import { useEffect, useState } from 'preact/hooks';
import { ApiError, ask } from '../../api/ask.ts';
import { go, SERVICE, to, useAddress } from '../../app/address.ts';
import { useSession } from '../../app/session.tsx';
import { Refusal } from '../../ui/failure.tsx';

/** How the service signs browsers in. */
const { signIn: WAY, linkCommand: COMMAND } = document.documentElement.dataset;

/** The code of a one-time link stands after the #, which browsers send to nobody. It leaves the address at once. */
function takeCode(): string | null {
  const code = location.hash.slice(1);
  if (code === '') return null;
  history.replaceState(null, '', location.pathname + location.search);
  return code;
}

export function Page() {
  const { query } = useAddress();
  const { value: me, again } = useSession();
  const [code, setCode] = useState(takeCode);
  const [error, setError] = useState<ApiError | null>(null);
  const next = query.get('next') ?? '';
  const home = next.startsWith('/') ? to('') + next : to('/jobs');

  useEffect(() => {
    // A link that is pasted over this page's own address loads nothing.
    const takeNext = () => setCode((last) => takeCode() ?? last);
    addEventListener('hashchange', takeNext);
    return () => removeEventListener('hashchange', takeNext);
  }, []);
  useEffect(() => {
    if (code === null) return;
    setError(null);
    ask('POST /console/session', { code }).then(again, (thrown: unknown) => {
      if (!(thrown instanceof ApiError)) throw thrown;
      setError(thrown);
    });
  }, [code, again]);
  useEffect(() => {
    if (me && (code === null || !error)) go(home, { replace: true });
  }, [me, code, error, home]);

  if (code !== null && !error) return <p class="center">Signing in …</p>;
  return (
    <section class="card narrow">
      <h1>Sign in</h1>
      {query.has('failed') && (
        <p class="failure" role="alert">
          Your identity provider did not sign you in. <small>Request {query.get('failed')}</small>
        </p>
      )}
      {query.has('away') && (
        <p class="failure" role="alert">
          Your identity provider does not answer. Try again in a minute. <small>Request {query.get('away')}</small>
        </p>
      )}
      <Refusal error={error} />
      <Way next={next} />
    </section>
  );
}

function Way({ next }: { next: string }) {
  if (WAY === 'provider') {
    return (
      <a
        class="button primary"
        target="_self"
        href={`${SERVICE}/console/provider/sign-in?${new URLSearchParams({ next })}`}
      >
        Continue to your identity provider
      </a>
    );
  }
  if (WAY === 'none') {
    return <p>Nobody can sign in here with a browser: the service has no client at its identity provider.</p>;
  }
  return (
    <>
      <p>This service runs on one machine. Whoever runs it makes a link that signs you in once:</p>
      <pre>{COMMAND}</pre>
    </>
  );
}
