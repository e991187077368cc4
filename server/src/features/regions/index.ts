export { REGION_CELLS, REGION_PROMOTIONS } from './directory-store.ts';
export { REGION_CLOCKS, REGION_VECTORS } from './numbers-store.ts';
export { REGION_TERMS } from './terms-store.ts';
