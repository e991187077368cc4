export { refuseReviewed } from './change-review.ts';
export { type WaitingChange, type WaitingValues, waitingValues } from './waiting-values.ts';
