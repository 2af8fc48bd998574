// Command validate reads JSON documents, one a line, as {"name": …, "document": …}, and prints the names of those that a JSON
// Schema, whose file is its argument, refuses: "NAME | why", a line each. It exits with 1 where it could not look at them.
package main
