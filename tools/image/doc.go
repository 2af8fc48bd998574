// Command image writes programs into an image of the Open Container Initiative, an archive with one image for each architecture:
//
//	image VERSION ARCHIVE COMPANIONS ARCHITECTURE=PROGRAM...
//
// COMPANIONS is a folder whose files go to /usr/share/doc/realmgate. The same files and SOURCE_DATE_EPOCH give the same octets.
package main
