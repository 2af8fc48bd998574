// Package packages tests what the packages put on a machine (packages/).
package packages
