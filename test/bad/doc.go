// Package bad gives a node what it should never get: malformed frames and
// requests, foreign pages, odd names, clients that do not read, files and folders
// that are not what they should be, journals that are damaged or come from a newer
// version. Each gets a clear answer and loses nothing, and the node goes on, or
// does not start and says why.
package bad
