"""Arrays that may weigh gigabytes: mapped from files, known by their content, handed on by reference."""
