export { backendDrift } from './backend-drift.ts';
export { type DueRow, dueSecretsOf, type FailedRotationRow } from './due-store.ts';
export { ROTATIONS } from './rotation-store.ts';
