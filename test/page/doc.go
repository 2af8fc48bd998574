// Package page tests the page of the gateway as people see it: Debian's Chromium, a whole gateway, and real clients in network
// namespaces. Each screen must leave the browser's console empty.
//
// REALMGATE_SCREENSHOTS names a folder that gets a picture of every screen: light and dark, wide and narrow.
package page
