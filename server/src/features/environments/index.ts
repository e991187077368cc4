export { effectiveSecrets } from './composition.ts';
export { BINDINGS, ENVIRONMENTS } from './store.ts';
