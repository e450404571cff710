// Who is signed in. The session is a cookie that no script can read; the console knows only the profile.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect } from 'preact/hooks';
import { type Answer, type AnswerOf, ask, signedOut, useAnswer, useEvery } from '../api/ask.ts';
import { to } from './address.ts';

export type Profile = AnswerOf<'GET /users/me'>;

/** A page that only listens hears after this long that its session has ended, and what the balance is. */
const AGAIN_MS = 60_000;

const Session = createContext<Answer<Profile>>({ value: undefined, error: null, is_waiting: true, again() {} });

export function SessionProvider({ children }: { children: ComponentChildren }) {
  const profile = useAnswer('GET /users/me', {});
  const { value, again } = profile;
  useEvery(AGAIN_MS, profile);
  useEffect(() => {
    if (value === undefined) return;
    // Once for each sign-in, because the answer to `again` is such a refusal too.
    signedOut.addEventListener('change', again, { once: true });
    return () => signedOut.removeEventListener('change', again);
  }, [value, again]);
  useEffect(() => {
    if (value?.signup_bonus !== 'pending') return;
    // Who gets no credits now is asked again when the next page is loaded.
    ask('POST /users/me/fingerprint', machine()).then(again, () => {});
  }, [value?.signup_bonus, again]);
  const is_out = profile.error?.status === 401;
  return <Session.Provider value={is_out ? { ...profile, value: undefined } : profile}>{children}</Session.Provider>;
}

/** The credits of a new account come with what its first machine is. */
const machine = () => ({
  os: navigator.platform,
  device_type: matchMedia('(pointer: coarse)').matches ? 'mobile' : 'desktop',
  screen_size: `${screen.width}x${screen.height}`,
});

export const useSession = (): Answer<Profile> => useContext(Session);

/** The profile of who is signed in, on pages that only they see. */
export const useMe = (): Profile => useSession().value!;

export async function signOut(): Promise<void> {
  await ask('DELETE /console/session', {});
  location.assign(to('/sign-in'));
}
