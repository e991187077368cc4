/** What tests give a service as CV_METRICS_TOKEN. */
export const METRICS_TOKEN = `cv_metrics_${'m'.repeat(43)}`;
