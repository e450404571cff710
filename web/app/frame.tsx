// What stands around each page: the way to the others, the balance, and who is signed in.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Menu } from '../ui/menu.tsx';
import { grouped } from '../ui/values.tsx';
import { SERVICE, to, useAddress } from './address.ts';
import { type Profile, signOut, useSession } from './session.tsx';
import { applyTheme, THEMES, theme } from './theme.ts';

/** The areas of the console. The first part of a page's path says which one it belongs to. */
const AREAS = [
  { path: '/jobs', label: 'Jobs', access: 'user' },
  { path: '/account', label: 'Account', access: 'user' },
  { path: '/admin', label: 'Administration', access: 'admin' },
] as const;

export function Frame({ children }: { children: ComponentChildren }) {
  const { value: me } = useSession();
  return (
    <>
      <a class="skip" href="#page">
        Skip to the page
      </a>
      <header class="top">
        <a class="brand" href={to('/jobs')}>
          URL checker
        </a>
        {me && <Areas me={me} />}
        {me && <Account me={me} />}
      </header>
      <main id="page" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

function Areas({ me }: { me: Profile }) {
  const { path } = useAddress();
  const shown = AREAS.filter(({ access }) => access === 'user' || me.flags.is_admin);
  return (
    <nav aria-label="Areas">
      {shown.map((area) => (
        <a key={area.path} href={to(area.path)} aria-current={path.startsWith(area.path) ? 'page' : undefined}>
          {area.label}
        </a>
      ))}
    </nav>
  );
}

function Account({ me }: { me: Profile }) {
  const [chosen, setChosen] = useState(theme);
  return (
    <div class="who">
      <a href={to('/account')} class="balance">
        <b>{grouped(me.credit_balance)}</b> credits
      </a>
      <Menu label={me.email ?? me.user_id}>
        <fieldset class="themes">
          <legend>Appearance</legend>
          {THEMES.map((name) => (
            <label key={name}>
              <input
                type="radio"
                name="theme"
                checked={name === chosen}
                onChange={() => {
                  applyTheme(name);
                  setChosen(name);
                }}
              />
              {name}
            </label>
          ))}
        </fieldset>
        <a href={`${SERVICE}/docs`} target="_blank" rel="noreferrer">
          API reference
        </a>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
      </Menu>
    </div>
  );
}
