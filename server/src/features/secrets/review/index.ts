export { refuseReviewed } from './change-review.ts';
