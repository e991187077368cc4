export { EXPORTERS } from './store.ts';
