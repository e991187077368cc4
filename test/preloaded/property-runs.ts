import fc from 'fast-check';

/** The quick suite tries fewer cases of each property, unless a test says how many it needs. */
fc.configureGlobal({ numRuns: Number(process.env['COFFER_TEST_PROPERTY_RUNS']) });
