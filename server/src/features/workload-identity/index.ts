export { type MethodRow, methodsOfConnections } from './store.ts';
