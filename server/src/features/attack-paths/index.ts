export type { AttackPath } from './schemas.ts';
export { read as readPath } from './service.ts';
