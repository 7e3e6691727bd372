//! How revisions of skills do, and what follows from it.
