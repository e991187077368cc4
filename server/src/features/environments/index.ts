export { effectiveSecrets } from './composition.ts';
export { BINDINGS } from './store.ts';
