// Loads the project's own modules with less work: a relative import names its TypeScript file as it is, so Node need not ask the file
// system where the file is, and of which kind. JavaScript, because Node would load its compiler for TypeScript to read this file.
import { registerHooks } from 'node:module';

const isOwn = (specifier, parent = '') =>
  specifier.startsWith('.') &&
  specifier.endsWith('.ts') &&
  parent.startsWith('file:') &&
  !parent.includes('/node_modules/');

registerHooks({
  resolve(specifier, context, next) {
    if (!isOwn(specifier, context.parentURL)) return next(specifier, context);
    return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true };
  },
});
