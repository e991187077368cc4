import hooks from 'node:async_hooks';

/**
 * Loaded before a test file. The runner follows every promise to tell which test an error belongs to that nobody caught, which is a fifth of what
 * tests cost. Without that such an error fails the file instead of the test.
 */
const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
