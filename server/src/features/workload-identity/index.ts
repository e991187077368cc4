export { METHODS, type MethodRow, methodsOfConnections } from './store.ts';
