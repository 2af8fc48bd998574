// Package lifecycle is how the parts of the daemon start, change together and stop: a list of services, in order, and
// loops over it. It knows nothing of what they do.
//
// A change of the configuration goes through the list three times. Each service prepares its part, which changes nothing;
// each commits, and where one fails those before it roll back, the last first; and when all have committed each settles,
// the last first, which cannot fail.
//
// Workers are what several services have alike: something in the background for each function of a kind, which a reload leaves
// alone where its part stays.
//
// A list keeps no state; Workers have a lock. Whoever applies changes applies one at a time.
package lifecycle
