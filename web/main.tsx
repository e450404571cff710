// The console in the browser: it begins here.
import { render } from 'preact';
import { followLinks } from './app/address.ts';
import { App } from './app/app.tsx';
import { applyTheme } from './app/theme.ts';

applyTheme();
followLinks();
render(<App />, document.getElementById('console')!);
